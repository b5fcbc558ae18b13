import Platform

/// Draws `penstock top`: a pure function of what is known, the keys so far and the terminal's size.
package struct TopScreen: Sendable {
    package struct Size: Sendable, Equatable {
        package var columns: Int
        package var rows: Int

        package init(columns: Int, rows: Int) {
            self.columns = columns
            self.rows = rows
        }
    }

    /// nil: there was no answer yet.
    package var report: StatusReport?
    package var history: TopHistory
    /// Why the daemon does not answer now; nil: it does.
    package var problem: String?
    /// The same in two words.
    package var problemTitle = "not running"

    package init(report: StatusReport? = nil, history: TopHistory = TopHistory(), problem: String? = nil) {
        self.report = report
        self.history = history
        self.problem = problem
    }

    /// At most as many lines as the terminal has rows. The caller cuts them to its width.
    package func draw(_ state: TopState, _ size: Size) -> [ScreenLine] {
        guard size.rows > 0, size.columns > 0 else { return [] }
        var top = head(size)
        let foot = size.rows >= 4 ? [self.foot(state)] : []
        top = Array(top.prefix(max(1, size.rows - foot.count)))
        let room = max(0, size.rows - top.count - foot.count)
        var body: [ScreenLine] = []
        switch state.view {
        case .help: body = page(Self.help.map { ScreenLine($0) }, state.scroll, room)
        case .details(let row): body = page(TopDetails(self, row).lines(size.columns), state.scroll, room)
        case .list: if let report { body = list(report, state, size.columns, room) }
        }
        if !foot.isEmpty { body += Array(repeating: ScreenLine(), count: max(0, room - body.count)) }
        return top + body.prefix(room) + foot
    }

    // MARK: Head and foot

    private func head(_ size: Size) -> [ScreenLine] {
        var first = ScreenLine("penstock", .title)
        var lines: [ScreenLine] = []
        if let problem {
            first.add("  \(problemTitle)", .bad)
            lines.append(ScreenLine(problem.withControlCharactersEscaped, .bad))
            if report != nil { lines.append(ScreenLine("below: the last report", .faint)) }
        }
        guard let report else {
            if problem == nil { first.add("  waiting for the daemon's answer") }
            return [first] + lines
        }
        if problem == nil {
            first.add("  ")
            first.add(report.health.rawValue, .init(report.health))
            let rate = history.rate(of: .allAccepted) ?? report.eventsPerSecond
            first.add("  \(Readable.grouped(UInt64(rate.rounded().clamped))) events/s ")
            first.add(Sparkline.draw(history.rates(of: .allAccepted), width: size.columns >= 80 ? 24 : 10), .good)
            first.add("  \(report.version.withControlCharactersEscaped), up \(Readable.duration(report.uptimeSeconds))")
            // At most a quarter of the screen.
            for reason in report.reasons.prefix(max(1, size.rows / 8)) {
                lines.append(ScreenLine("  - \(reason.withControlCharactersEscaped)", .warning))
            }
            if report.reasons.count > max(1, size.rows / 8) {
                lines.append(ScreenLine("  - and \(report.reasons.count - max(1, size.rows / 8)) more", .warning))
            }
        }
        if let limit = report.load?.limit { lines.append(ScreenLine("limit: \(limit)", .warning)) }
        lines.append(journal(report.journal))
        return [first] + lines
    }

    private func journal(_ journal: StatusReport.Journal) -> ScreenLine {
        var line = ScreenLine("journal ")
        line.add(journal.state.rawValue, .init(journal.state))
        line.add("  \(Readable.size(journal.bytes)) of \(Readable.size(journal.retainBytes)) ")
        let share = journal.retainBytes > 0 ? Double(journal.bytes) / Double(journal.retainBytes) : 0
        let filled = min(10, Int((share * 10).rounded(.up).clamped))
        line.add("[\(String(repeating: "#", count: filled))\(String(repeating: ".", count: 10 - filled))]")
        line.add("  \(Readable.counted(journal.next - min(journal.first, journal.next), "event"))")
        if let sync = journal.sync { line.add("  sync p99 \(Readable.latency(sync.p99))") }
        if let error = journal.lastError { line.add("  \(error.withControlCharactersEscaped)", .bad) }
        return line
    }

    private func foot(_ state: TopState) -> ScreenLine {
        if state.isEditingFilter { return ScreenLine("/\(state.filter)_   Enter keeps the filter, Esc clears it") }
        switch state.view {
        case .help, .details: return ScreenLine("Esc back  ↑↓ scroll  q quit", .faint)
        case .list:
            let filter = state.filter.isEmpty ? "" : ": \(state.filter)"
            let order = state.sort.rawValue + (state.isReversed ? " reversed" : "")
            return ScreenLine(
                "q quit  s sort: \(order)  / filter\(filter)  ↑↓ select  Enter details  ? help", .faint)
        }
    }

    /// Lines of at most 80 columns.
    private static let help = [
        "", "s  sort by the next column: name, rate, lag, dead, state", "r  reverse the order",
        "/  show only names that contain a text; Enter keeps it, Esc clears it",
        "↑ ↓ j k  select    PgUp PgDn Home End  select faster", "Enter  details of the selected row    Esc  back",
        "q  quit    Ctrl-Z  suspend", "",
        "PER SECOND and TREND are from the time since top was started. LAG is the",
        "number of events that a destination has not settled, and AGE the age of the",
        "oldest of them. P50 and P99: half, and 99 %, of the events of the last minute",
        "were delivered within that time after their receipt. DEAD counts dead letters,",
        "for a source its refused events, since the daemon's start.",
    ]

    private func page(_ lines: [ScreenLine], _ scroll: Int, _ room: Int) -> [ScreenLine] {
        Array(lines.dropFirst(min(scroll, max(0, lines.count - room))).prefix(room))
    }

    // MARK: The tables

    private func list(_ report: StatusReport, _ state: TopState, _ width: Int, _ room: Int) -> [ScreenLine] {
        let current = state.currentRow(report, history)
        let sources = sourceTable(report, state, current).lines(width: width)
        let destinations = destinationTable(report, state, current).lines(width: width)
        guard !state.rows(report, history).isEmpty else {
            return [ScreenLine(), ScreenLine("no name contains \"\(state.filter)\"")]
        }
        // A blank line before each table, if there is room. Sources get what destinations leave, or a third.
        let blank = room >= 8 ? 1 : 0
        let left = max(0, room - 2 * blank)
        let forSources = min(sources.count, max(left / 3, left - destinations.count))
        let gap = Array(repeating: ScreenLine(), count: blank)
        return gap + window(sources, forSources) + gap + window(destinations, left - min(forSources, left))
    }

    /// The title, and the rows around the selected one.
    private func window(_ table: [ScreenLine], _ room: Int) -> [ScreenLine] {
        guard room >= 2, table.count > room else { return Array(table.prefix(room)) }
        let rows = table.dropFirst()
        let selected = rows.firstIndex(where: \.isSelected) ?? 1
        let first = min(max(1, selected - (room - 2)), table.count - (room - 1))
        return [table[0]] + table[first..<first + room - 1]
    }

    private func count(_ rate: Double?) -> String {
        rate.map { Readable.grouped(UInt64($0.rounded().clamped)) } ?? "-"
    }

    private func sourceTable(_ report: StatusReport, _ state: TopState, _ current: TopState.Row?) -> ScreenTable {
        var table = ScreenTable([
            .init(title: "SOURCE", importance: 0, longest: 20),
            .init(title: "PER SECOND", alignsRight: true, importance: 1),
            .init(title: "TREND", importance: 4), .init(title: "ACCEPTED", alignsRight: true, importance: 5),
            .init(title: "REFUSED", alignsRight: true, importance: 2),
            .init(title: "CLIENTS", alignsRight: true, importance: 6),
            .init(title: "PLUGIN", importance: 7, longest: 30), .init(title: "STATE", importance: 3, longest: 200),
        ])
        for name in state.sources(report, history) {
            guard let source = report.sources[name] else { continue }
            let refuses = (history.rate(of: .refused(source: name)) ?? 0) > 0
            var state = source.state?.rawValue ?? ""
            if let error = source.lastError, source.state != .up { state += ": \(error)" }
            table.add(
                [
                    .init(text: name), .init(text: count(history.rate(of: .accepted(source: name)))),
                    .init(text: Sparkline.draw(history.rates(of: .accepted(source: name)), width: 12), style: .good),
                    .init(text: Readable.grouped(source.accepted)),
                    .init(text: Readable.grouped(source.refused), style: refuses ? .bad : .plain),
                    .init(text: "\(source.connections)"),
                    .init(text: Self.text(source.plugin)),
                    .init(text: state, style: source.state.map { .init($0) } ?? .good),
                ], isSelected: current == .source(name))
        }
        return table
    }

    private func destinationTable(_ report: StatusReport, _ state: TopState, _ current: TopState.Row?) -> ScreenTable {
        var table = ScreenTable([
            .init(title: "DESTINATION", importance: 0, longest: 20), .init(title: "STATE", importance: 1),
            .init(title: "PER SECOND", alignsRight: true, importance: 3), .init(title: "TREND", importance: 8),
            .init(title: "LAG", alignsRight: true, importance: 2),
            .init(title: "AGE", alignsRight: true, importance: 4),
            .init(title: "P50", alignsRight: true, importance: 9),
            .init(title: "P99", alignsRight: true, importance: 6),
            .init(title: "DEAD", alignsRight: true, importance: 5),
            .init(title: "RETRIES", alignsRight: true, importance: 10),
            .init(title: "PLUGIN", importance: 11, longest: 30),
            .init(title: "LAST ERROR", importance: 7, longest: 200),
        ])
        for name in state.destinations(report, history) {
            guard let destination = report.destinations[name] else { continue }
            let trend = Sparkline.draw(history.rates(of: .delivered(destination: name)), width: 12)
            table.add(
                [
                    .init(text: name), .init(text: destination.state.rawValue, style: Self.style(destination.state)),
                    .init(text: count(history.rate(of: .delivered(destination: name)) ?? destination.eventsPerSecond)),
                    .init(text: trend, style: .good),
                    .init(text: Readable.grouped(destination.lagEvents)),
                    .init(text: destination.lagEvents > 0 ? Readable.duration(destination.lagSeconds) : "-"),
                    .init(text: destination.latency.map { Readable.latency($0.p50) } ?? "-"),
                    .init(text: destination.latency.map { Readable.latency($0.p99) } ?? "-"),
                    .init(
                        text: Readable.grouped(destination.deadLettered),
                        style: destination.deadLettered > 0 ? .warning : .plain),
                    .init(text: Readable.grouped(destination.retries)),
                    .init(text: Self.text(destination.plugin)),
                    .init(
                        text: destination.state == .up ? "" : destination.lastError ?? "",
                        style: Self.style(destination.state)),
                ], isSelected: current == .destination(name))
        }
        return table
    }

    private static func text(_ plugin: StatusReport.Plugin?) -> String {
        plugin.map { "\($0.name) \($0.version)" } ?? ""
    }

    static func style(_ state: StatusReport.Destination.State) -> ScreenLine.Style { .init(state) }
}
