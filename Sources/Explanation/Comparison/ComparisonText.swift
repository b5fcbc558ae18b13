import DaemonConfiguration
import Platform

/// Renders a comparison for people.
package struct ComparisonText {
    /// The most lines of one sample, and the lines around a difference.
    private static let longest = 60
    private static let surroundings = 2
    /// The most fields that are named.
    private static let fields = 8

    private let style: ANSIStyle

    package init(_ style: ANSIStyle) { self.style = style }

    package func render(_ report: ComparisonReport) -> String {
        var lines = [heading(report)]
        lines += report.notCompared.map {
            style("\($0) differs: it decides before an event is stored, so its effect is not shown", .yellow)
        }
        for destination in report.destinations { lines += [""] + self.lines(destination) }
        return lines.map { $0 + "\n" }.joined()
    }

    private func heading(_ report: ComparisonReport) -> String {
        let verdict = report.changes ? style("changes", .bold) : style("no changes", .bold)
        guard let first = report.first, let last = report.last else {
            let isRead = report.destinations.contains { $0.counts != nil }
            return verdict
                + style(isRead ? " · the journal has no such events" : " · no event had to be compared", .dim)
        }
        let times = "received \(report.firstReceivedAt ?? "-") to \(report.lastReceivedAt ?? "-")"
        return verdict
            + style(
                " · \(Readable.counted(report.events, "event")), positions \(first) to \(last), \(times)", .dim)
    }

    // MARK: One destination

    private func lines(_ destination: ComparisonReport.Destination) -> [String] {
        var lines = [title(destination)]
        if let counts = destination.counts { lines += indented(table(counts)) }
        lines += indented(fields(destination))
        for setting in destination.target { lines += indented(self.lines(setting)) }
        if !destination.settings.isEmpty {
            lines += indented([
                style("also differs, without effect on events: \(destination.settings.joined(separator: ", "))", .dim)
            ])
        }
        for sample in destination.samples { lines += indented([""] + self.lines(sample)) }
        return lines
    }

    private func title(_ destination: ComparisonReport.Destination) -> String {
        let name = style(destination.name, .bold)
        switch destination.state {
        case .same:
            let reason = destination.counts == nil ? "same rules" : "same events"
            return style("= ", .dim) + name + style(" · no change, \(reason)", .dim)
        case .changed: return style("~ ", .yellow) + name
        case .added: return style("+ ", .green) + name + style(" · new destination", .green) + start(destination)
        case .removed: return style("- ", .red) + name + style(" · removed destination", .red)
        case .renamed:
            return style("~ ", .yellow) + name
                + style(
                    " · renamed from \(destination.renamedFrom ?? "-"), whose cursor and dead letters it does not get",
                    .yellow) + start(destination)
        }
    }

    /// The counts are of past events, which a new destination may never get.
    private func start(_ destination: ComparisonReport.Destination) -> String {
        switch destination.start {
        case "now"?: style(" · start: now, so it gets later events only", .dim)
        case let start?: style(" · start: \(start)", .dim)
        case nil: ""
        }
    }

    private func table(_ counts: ComparisonReport.Counts) -> [String] {
        guard counts.total > 0 else { return [style("no event is for this destination", .dim)] }
        var rows: [(String, UInt64, ANSIStyle.Colour?)] = [("same", counts.same, nil)]
        rows.append(("added", counts.added, .green))
        rows.append(("lost", counts.lost, .red))
        rows.append(("changed", counts.changed, .yellow))
        rows.append(("dead letters", counts.deadLetters, .red))
        let shown = rows.filter { $0.1 > 0 }
        let width = shown.map { Readable.grouped($0.1).count }.max() ?? 0
        return shown.map { label, count, colour in
            let number = Readable.grouped(count)
            let cell =
                label + String(repeating: " ", count: 14 - label.count + width - number.count) + number
            return style(cell, colour) + style("  \(Self.percent(count, of: counts.total))", .dim)
        }
    }

    /// `25 %`. A part that is not zero is never shown as nothing, and a part is never shown as the whole.
    static func percent(_ part: UInt64, of whole: UInt64) -> String {
        guard whole > 0 else { return "0 %" }
        let tenths = Double(part) / Double(whole) * 1000
        if part > 0, tenths < 1 { return "< 0.1 %" }
        if part < whole, tenths > 999 { return "> 99.9 %" }
        let rounded = UInt64(tenths.rounded())
        return rounded % 10 == 0 ? "\(rounded / 10) %" : "\(rounded / 10).\(rounded % 10) %"
    }

    private func fields(_ destination: ComparisonReport.Destination) -> [String] {
        guard !destination.fields.isEmpty else { return [] }
        var rows = AlignedRows()
        for field in destination.fields.prefix(Self.fields) {
            let kinds = [("added", field.added), ("removed", field.removed), ("changed", field.changed)]
            let words = kinds.filter { $0.1 > 0 }.map { "\($0.0) in \(Readable.counted(UInt64($0.1), "event"))" }
            rows.add(("  " + field.path, .cyan), (words.joined(separator: ", "), nil))
        }
        let rest = destination.fields.count - Self.fields
        let more = rest > 0 || destination.otherFields > 0
        return [style("fields", .bold)] + rows.lines(style) + (more ? [style("  and others: see --json", .dim)] : [])
    }

    private func lines(_ setting: ComparisonReport.Setting) -> [String] {
        [style(setting.key, .bold) + style(" differs, for every event", .yellow)]
            + (setting.before ?? "").split(separator: "\n").map { style("  - \($0)", .red) }
            + (setting.after ?? "").split(separator: "\n").map { style("  + \($0)", .green) }
    }

    // MARK: One sample

    private func lines(_ sample: ComparisonReport.Sample) -> [String] {
        let (word, colour): (String, ANSIStyle.Colour) =
            switch sample.verdict {
            case .same: ("same", .dim)
            case .added: ("added", .green)
            case .lost: ("lost", .red)
            case .changed: ("changed", .yellow)
            case .deadLetter: ("dead letter", .red)
            }
        let event = [sample.type ?? "event", sample.name.map { "\"\($0)\"" } ?? ""].filter { !$0.isEmpty }
        var lines = [
            style(word, colour) + style(" · ", .dim) + style(event.joined(separator: " "), .bold)
                + style(" · position \(sample.position), received \(sample.receivedAt)", .dim)
        ]
        if let before = sample.before { lines.append("  " + style("now: \(before)", .dim)) }
        if let after = sample.after { lines.append("  " + style("then: \(after)", colour)) }
        let difference = LineDifference(sample.lines)
        // An event that neither configuration sends has no differences.
        let isSame = difference.lines.allSatisfy { $0.mark == .same }
        let excerpt =
            isSame ? difference.lines : difference.excerpt(sample.verdict == .changed ? Self.surroundings : 0)
        for line in excerpt.prefix(Self.longest) {
            guard let line else {
                lines.append("  " + style("  …", .dim))
                continue
            }
            let colour: ANSIStyle.Colour? =
                switch line.mark {
                case .same: nil
                case .removed: .red
                case .added: .green
                }
            lines.append("  " + style("\(line.mark.rawValue) \(line.text)", colour))
        }
        if excerpt.count > Self.longest {
            lines.append("  " + style("  and \(Readable.counted(UInt64(excerpt.count - Self.longest), "line"))", .dim))
        }
        if sample.lines.isEmpty { lines.append("  " + style("  the event is too large to be shown", .dim)) }
        return lines
    }

    private func indented(_ lines: [String]) -> [String] { lines.map { $0.isEmpty ? "" : "    " + $0 } }
}

extension LineDifference {
    fileprivate init(_ lines: [ComparisonReport.Line]) {
        self.init(lines.map { Line(mark: Line.Mark(rawValue: $0.mark) ?? .same, text: $0.text) })
    }
}
