import Platform

/// The status report in words and columns, for a person.
package enum StatusText {
    /// One sentence: `12,300 events/s; 4 destinations up, mixpanel retrying: HTTP 503, 14 min behind`.
    package static func sentence(_ report: StatusReport) -> String {
        let rate = "\(grouped(UInt64(report.eventsPerSecond.rounded().clamped))) events/s"
        let up = report.destinations.values.count { $0.state == .up }
        let counted = up == 1 ? "1 destination up" : "\(grouped(UInt64(up))) destinations up"
        return ([rate + "; " + counted] + report.problems).joined(separator: ", ")
    }

    /// What an operator should know, worst first; empty if all is well.
    static func problems(journal: StatusReport.Journal, destinations: [String: StatusReport.Destination]) -> [String] {
        var problems: [String] = []
        switch journal.state {
        case .ok: break
        case .full: problems.append("journal full")
        case .failed: problems.append("journal cannot be written" + because(journal.lastError))
        }
        for (name, destination) in destinations.sorted(by: { $0.key < $1.key }) where destination.state != .up {
            var problem = "\(name.withControlCharactersEscaped) \(destination.state.rawValue)" + because(destination.lastError)
            if destination.lagSeconds >= 1 { problem += ", \(duration(destination.lagSeconds)) behind" }
            problems.append(problem)
        }
        return problems
    }

    /// The whole report.
    /// - Parameter color: with ANSI colours, for a terminal.
    package static func render(_ report: StatusReport, color: Bool = false) -> String {
        func painted(_ text: String, _ code: Int) -> String { color ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
        let health = painted(report.health.rawValue, report.health == .healthy ? 32 : 33)
        var text = "\(health): \(sentence(report))\n"
        text += "penstock \(report.version.withControlCharactersEscaped), up \(duration(report.uptimeSeconds))\n\n"

        var sources = TextTable("SOURCE", ">CONNECTIONS", ">ACCEPTED", ">REFUSED", "REASONS")
        for (name, source) in report.sources.sorted(by: { $0.key < $1.key }) {
            let reasons = source.refusedByReason.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            sources.add(
                name, grouped(UInt64(clamping: source.connections)), grouped(source.accepted), grouped(source.refused),
                reasons.map { "\($0.key) \(grouped($0.value))" }.joined(separator: ", "))
        }
        text += sources.render() + violations(report.sources) + "\n"

        let journal = report.journal
        text += "journal: \(journal.state.rawValue), \(size(journal.bytes)) in \(journal.segments) segment\(journal.segments == 1 ? "" : "s"), "
        text += "positions \(journal.first) to \(journal.next)\(because(journal.lastError))\n"
        text += retention(journal)
        if journal.damaged > 0 { text += "journal: \(grouped(journal.damaged)) positions lost to damage\n" }
        text += "\n"

        var destinations = TextTable(
            "DESTINATION", "STATE", ">FOR", ">DELIVERED", ">PER SECOND", ">FILTERED", ">DEAD", ">RETRIES", ">LAG", ">BEHIND", "LAST ERROR")
        for (name, destination) in report.destinations.sorted(by: { $0.key < $1.key }) {
            var error = destination.lastError ?? ""
            if let answer = destination.lastAnswer { error += ", the service says: \(answer)" }
            if let next = destination.nextAttemptSeconds { error += " (again in \(duration(next)))" }
            destinations.add(
                name, destination.state.rawValue, destination.stateSeconds.map(duration) ?? "-", grouped(destination.delivered),
                grouped(UInt64(destination.eventsPerSecond.rounded().clamped)), grouped(destination.filtered),
                grouped(destination.deadLettered), grouped(destination.retries), grouped(destination.lagEvents),
                destination.lagSeconds > 0 ? duration(destination.lagSeconds) : "-", error)
        }
        text += destinations.render { column, cell in
            guard column == 1 else { return cell }
            return painted(cell, cell.hasPrefix("up") ? 32 : cell.hasPrefix("retrying") ? 33 : 31)
        }

        text += dropped(report.destinations) + filtered(report.destinations)

        if !report.recentRefusals.isEmpty {
            var refusals = TextTable("REFUSED AT", "SOURCE", "REASON", "DETAIL")
            for refusal in report.recentRefusals.suffix(5) {
                refusals.add(refusal.time, refusal.source, refusal.reason, refusal.detail)
            }
            text += "\n" + refusals.render()
        }
        return text
    }

    /// Events that were taken although they are not as planned.
    private static func violations(_ sources: [String: StatusReport.Source]) -> String {
        sources.sorted { $0.key < $1.key }.filter { !$0.value.violationsByReason.isEmpty }.map { name, source in
            let reasons = source.violationsByReason.sorted { $0.key < $1.key }
            return "\(name.withControlCharactersEscaped) took events that are not as planned: "
                + reasons.map { "\($0.key.withControlCharactersEscaped) \(grouped($0.value))" }.joined(separator: ", ") + "\n"
        }.joined()
    }

    /// What is kept, and what becomes of it when there is no more room.
    private static func retention(_ journal: StatusReport.Journal) -> String {
        var text = "journal: keeps at most \(size(journal.retainBytes)) and \(duration(journal.retainSeconds)), when full:"
        text += " \(journal.whenFull.withControlCharactersEscaped)\n"
        let removed = journal.removedForSpace
        if removed > 0 {
            text += "journal: \(grouped(removed)) delivered segment\(removed == 1 ? "" : "s") removed early: the filesystem was full\n"
        }
        return text
    }

    /// What `drop_oldest` has cost, where it has.
    private static func dropped(_ destinations: [String: StatusReport.Destination]) -> String {
        let lines = destinations.filter { $0.value.dropped > 0 }.sorted { $0.key < $1.key }.map { name, destination in
            "\(name.withControlCharactersEscaped) lost its oldest \(grouped(destination.dropped)) events: the journal was full\n"
        }
        return lines.isEmpty ? "" : "\n" + lines.joined()
    }

    /// Why events were left out, where it is more than that no route leads there.
    private static func filtered(_ destinations: [String: StatusReport.Destination]) -> String {
        var table = TextTable("DESTINATION", ">FILTERED", "BY")
        var isEmpty = true
        for (name, destination) in destinations.sorted(by: { $0.key < $1.key }) {
            guard destination.filteredByReason.contains(where: { $0.key != "no_route" && $0.value > 0 }) else { continue }
            isEmpty = false
            let reasons = destination.filteredByReason.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            table.add(
                name, grouped(destination.filtered), reasons.map { "\($0.key) \(grouped($0.value))" }.joined(separator: ", "))
        }
        return isEmpty ? "" : "\n" + table.render()
    }

    private static func because(_ error: String?) -> String {
        guard let error, !error.isEmpty else { return "" }
        return ": " + error.withControlCharactersEscaped
    }

    /// `12,300`.
    package static func grouped(_ number: UInt64) -> String {
        var groups: [Substring] = []
        var rest = Substring(String(number))
        while !rest.isEmpty {
            groups.insert(rest.suffix(3), at: 0)
            rest = rest.dropLast(3)
        }
        return groups.joined(separator: ",")
    }

    /// In the largest unit of which there are two: `90 s`, `14 min`, `36 h`, `3 d`.
    static func duration(_ seconds: Double) -> String {
        if seconds < 10 { return "\((max(seconds, 0) * 10).rounded() / 10) s" }
        switch UInt64(seconds.rounded().clamped) {
        case let whole where whole < 120: return "\(whole) s"
        case let whole where whole < 7200: return "\(whole / 60) min"
        case let whole where whole < 172_800: return "\(whole / 3600) h"
        case let whole: return "\(whole / 86_400) d"
        }
    }

    /// `1.5 GiB`.
    package static func size(_ bytes: UInt64) -> String {
        var amount = Double(bytes)
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if amount < 1024 { return unit == "B" ? "\(bytes) B" : "\((amount * 10).rounded() / 10) \(unit)" }
            amount /= 1024
        }
        return "\((amount * 10).rounded() / 10) TiB"
    }
}

extension Double {
    /// Held within what converts to a 64-bit integer; nothing for a NaN.
    fileprivate var clamped: Double { isNaN ? 0 : Swift.min(Swift.max(self, 0), 1e18) }
}
