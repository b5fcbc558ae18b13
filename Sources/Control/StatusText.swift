import Platform

/// The status report in words and columns, for a person.
package enum StatusText {
    /// One sentence: `12,300 events/s; 4 destinations up, mixpanel retrying: HTTP 503, 14 min behind`.
    package static func sentence(_ report: StatusReport) -> String {
        var clauses = [summary(report)] + report.reasons.prefix(sentenceReasons)
        if report.reasons.count > sentenceReasons { clauses.append("and \(report.reasons.count - sentenceReasons) more") }
        return clauses.joined(separator: ", ")
    }

    /// Reasons that the sentence names; it counts the others.
    private static let sentenceReasons = 3

    private static func summary(_ report: StatusReport) -> String {
        let rate = counted(UInt64(report.eventsPerSecond.rounded().clamped), "event") + "/s"
        let up = report.destinations.values.count { $0.state == .up }
        let counted = up == 1 ? "1 destination up" : "\(grouped(UInt64(up))) destinations up"
        return rate + "; " + counted
    }

    /// The whole report.
    /// - Parameter color: with ANSI colours, for a terminal.
    package static func render(_ report: StatusReport, color: Bool = false) -> String {
        func painted(_ text: String, _ code: Int) -> String { color ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
        let health = painted(report.health.rawValue, report.health == .healthy ? 32 : 33)
        var text = "\(health): \(summary(report))\n"
        for reason in report.reasons { text += "  - \(reason.withControlCharactersEscaped)\n" }
        if let reload = report.refusedReload { text += refusal(reload) }
        text += "penstock \(report.version.withControlCharactersEscaped), up \(duration(report.uptimeSeconds))\n\n"

        var sources = TextTable("SOURCE", ">CONNECTIONS", ">ACCEPTED", ">REFUSED", "REASONS")
        for (name, source) in report.sources.sorted(by: { $0.key < $1.key }) {
            let reasons = source.refusedByReason.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            sources.add(
                name, grouped(UInt64(clamping: source.connections)), grouped(source.accepted), grouped(source.refused),
                reasons.map { "\($0.key) \(grouped($0.value))" }.joined(separator: ", "))
        }
        text += sources.render() + socketUnits(report.sources) + limits(report.sources) + violations(report.sources) + "\n"

        let journal = report.journal
        text += "journal: \(journal.state.rawValue), \(size(journal.bytes)) in \(counted(UInt64(clamping: journal.segments), "segment")), "
        text += "positions \(journal.first) to \(journal.next)\(because(journal.lastError))\n"
        text += retention(journal)
        if journal.damaged > 0 { text += "journal: \(counted(journal.damaged, "position")) lost to damage\n" }
        text += "\n"

        var destinations = TextTable(
            "DESTINATION", "STATE", ">FOR", ">DELIVERED", ">PER SECOND", ">FILTERED", ">DEAD", ">RETRIES", ">LAG (EVENTS)", ">LAG (TIME)", "LAST ERROR")
        for (name, destination) in report.destinations.sorted(by: { $0.key < $1.key }) {
            var error = destination.lastError ?? ""
            if let answer = destination.lastAnswer { error += ", the service says: \(answer)" }
            if let next = destination.nextAttemptSeconds { error += " (again in \(duration(next)))" }
            destinations.add(
                name, destination.state.rawValue, destination.stateSeconds.map(duration) ?? "-", grouped(destination.delivered),
                grouped(UInt64(destination.eventsPerSecond.rounded().clamped)), grouped(destination.filtered),
                grouped(destination.deadLettered), grouped(destination.retries), grouped(destination.lagEvents),
                destination.lagEvents > 0 ? duration(destination.lagSeconds) : "-", error)
        }
        text += destinations.render { column, cell in
            guard column == 1 else { return cell }
            return painted(cell, cell.hasPrefix("up") ? 32 : cell.hasPrefix("retrying") ? 33 : 31)
        }

        text += dropped(report.destinations) + backfills(report.destinations) + filtered(report.destinations)

        if !report.recentRefusals.isEmpty {
            var refusals = TextTable("REFUSED AT", "SOURCE", "REASON", "DETAIL")
            for refusal in report.recentRefusals.suffix(5) {
                refusals.add(refusal.time, refusal.source, refusal.reason, refusal.detail)
            }
            text += "\n" + refusals.render()
        }
        return text
    }

    /// Where the access to sockets is set that systemd makes.
    private static func socketUnits(_ sources: [String: StatusReport.Source]) -> String {
        sources.sorted { $0.key < $1.key }.compactMap { name, source in
            source.socketUnit.map {
                "\(name.withControlCharactersEscaped): \(source.listens.joined(separator: ", ").withControlCharactersEscaped), "
                    + "\($0.withControlCharactersEscaped)\n"
            }
        }.joined()
    }

    /// The errors of the last refused reload, each whole.
    private static func refusal(_ reload: StatusReport.RefusedReload) -> String {
        var text = "the reload at \(reload.time.withControlCharactersEscaped) was refused, and what ran before runs on:\n"
        for line in reload.errors.joined(separator: "\n").split(separator: "\n") {
            text += "    \(String(line).withControlCharactersEscaped)\n"
        }
        return text
    }

    /// Limits that took effect on clients, since the start.
    private static func limits(_ sources: [String: StatusReport.Source]) -> String {
        sources.sorted { $0.key < $1.key }.filter { !$0.value.limits.isEmpty }.map { name, source in
            let limits = source.limits.sorted { $0.key < $1.key }
            return "\(name.withControlCharactersEscaped) closed or turned away clients: "
                + limits.map { "\($0.key.withControlCharactersEscaped) \(grouped($0.value))" }.joined(separator: ", ") + "\n"
        }.joined()
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
            text += "journal: \(counted(removed, "delivered segment")) removed early: the filesystem was full\n"
        }
        return text
    }

    /// What `drop_oldest` has cost, where it has.
    private static func dropped(_ destinations: [String: StatusReport.Destination]) -> String {
        let lines = destinations.filter { $0.value.dropped > 0 }.sorted { $0.key < $1.key }.map { name, destination in
            "\(name.withControlCharactersEscaped) lost its oldest \(counted(destination.dropped, "event")): the journal was full\n"
        }
        return lines.isEmpty ? "" : "\n" + lines.joined()
    }

    /// Replays, and dead letters that wait for somebody.
    private static func backfills(_ destinations: [String: StatusReport.Destination]) -> String {
        var lines: [String] = []
        for (name, destination) in destinations.sorted(by: { $0.key < $1.key }) {
            let name = name.withControlCharactersEscaped
            if let replay = destination.replay {
                lines.append("\(name): replay \(replay.id) \(replay.state.rawValue), \(replay.percent) %, \(grouped(replay.delivered)) delivered\(because(replay.lastError))\n")
            }
            guard let letters = destination.deadLetters, letters.letters + letters.expired > 0 else { continue }
            var line = "\(name): \(counted(letters.letters, "dead letter"))"
            if letters.isRetrying { line += ", being retried\(because(letters.lastError))" }
            if letters.expired > 0 { line += ", \(grouped(letters.expired)) gone unseen (dead_letters.time, .size)" }
            lines.append(line + "\n")
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

    /// At most two digits that matter, in the largest unit of which there is one: `0.25 s`, `90 s`, `14 min`, `1.5 h`, `3.2 d`;
    /// days beyond 99 in full.
    package static func duration(_ seconds: Double) -> String {
        var amount = seconds.clamped
        if amount < 0.0005 { return "0 s" }
        if amount < 0.0995 { return digits(amount * 1000) + " ms" }
        for (unit, next) in [("s", 60.0), ("min", 60), ("h", 24)] {
            if amount < 99.5 { return digits(amount) + " " + unit }
            amount /= next
        }
        return digits(amount) + " d"
    }

    /// `0.25`, `2.5`, `3`, `25`.
    private static func digits(_ amount: Double) -> String {
        if amount >= 9.95 { return grouped(UInt64(amount.rounded().clamped)) }
        let (factor, places) = amount < 0.995 ? (100.0, 2) : (10.0, 1)
        let whole = UInt64((amount * factor).rounded().clamped)
        if whole % UInt64(factor) == 0 { return "\(whole / UInt64(factor))" }
        let rest = String(whole % UInt64(factor))
        return "\(whole / UInt64(factor))." + String(repeating: "0", count: places - rest.count) + rest
    }

    /// `1 event`, `1,200 events`.
    package static func counted(_ count: UInt64, _ noun: String) -> String { "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")" }

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
