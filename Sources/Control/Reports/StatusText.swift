import Platform

/// Formats the status report as text for a person.
package enum StatusText {
    /// One sentence: `12,300 events/s; 4 destinations up, mixpanel retrying: HTTP 503, 14 min behind`.
    package static func sentence(_ report: StatusReport) -> String {
        var clauses = [summary(report)] + report.reasons.prefix(sentenceReasons)
        if report.reasons.count > sentenceReasons {
            clauses.append("and \(report.reasons.count - sentenceReasons) more")
        }
        return clauses.joined(separator: ", ")
    }

    /// How many reasons the sentence contains. It only counts the others.
    private static let sentenceReasons = 3

    private static func summary(_ report: StatusReport) -> String {
        let rate = Readable.counted(UInt64(report.eventsPerSecond.rounded().clamped), "event") + "/s"
        let up = report.destinations.values.count { $0.state == .up }
        let counted = up == 1 ? "1 destination up" : "\(Readable.grouped(UInt64(up))) destinations up"
        return rate + "; " + counted
    }

    /// Formats the whole report.
    /// - Parameter color: use ANSI colours, for a terminal.
    package static func render(_ report: StatusReport, color: Bool = false) -> String {
        let style = ANSIStyle(isOn: color)
        func coloured(_ text: String, _ severity: ScreenLine.Style) -> String { style(text, severity.colour) }
        let health = coloured(report.health.rawValue, .init(report.health))
        var text = "\(health): \(summary(report))\n"
        for reason in report.reasons { text += "  - \(coloured(reason, .warning))\n" }
        if let reload = report.refusedReload { text += refusal(reload) }
        text +=
            "penstock \(report.version.withControlCharactersEscaped), up \(Readable.duration(report.uptimeSeconds))\n"
        text += (report.load?.limit.map { "limit: \($0)\n" } ?? "") + "\n"

        var sources = TextTable("SOURCE", ">CONNECTIONS", ">ACCEPTED", ">REFUSED", "REASONS")
        for (name, source) in report.sources.sorted(by: { $0.key < $1.key }) {
            let reasons = source.refusedByReason.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            sources.add(
                name, Readable.grouped(UInt64(clamping: source.connections)), Readable.grouped(source.accepted),
                Readable.grouped(source.refused),
                reasons.map { "\($0.key) \(Readable.grouped($0.value))" }.joined(separator: ", "))
        }
        text +=
            sources.render() + addresses(report.sources) + socketUnits(report.sources) + plugins(report.sources, style)
            + counts(\.limits, "closed or turned away clients", of: report.sources)
            + counts(\.violationsByReason, "accepted events that violate the tracking plan", of: report.sources)
            + counts(\.normalised, "normalised events", of: report.sources)
            + report.sources.sorted { $0.key < $1.key }.map { $1.duplicatesLine(of: $0) }.joined() + "\n"

        let journal = report.journal
        text +=
            "journal: \(coloured(journal.state.rawValue, .init(journal.state))), "
            + "\(Readable.size(journal.bytes)) in \(Readable.counted(UInt64(clamping: journal.segments), "segment")), "
        text += "positions \(journal.first) to \(journal.next)\(because(journal.lastError))\n"
        text += retention(journal)
        if journal.damaged > 0 {
            text += "journal: \(Readable.counted(journal.damaged, "position")) lost to damage\n"
        }
        text += "\n"

        var destinations = TextTable(
            "DESTINATION", "STATE", ">FOR", ">DELIVERED", ">PER SECOND", ">FILTERED", ">DEAD",
            ">RETRIES",
            ">LAG (EVENTS)", ">LAG (TIME)", "LAST ERROR")
        for (name, destination) in report.destinations.sorted(by: { $0.key < $1.key }) {
            var error = destination.lastError ?? ""
            if let answer = destination.lastAnswer { error += ", the service says: \(answer)" }
            if let next = destination.nextAttemptSeconds {
                error += " (next attempt in \(Readable.duration(next)))"
            }
            destinations.add(
                name, destination.state.rawValue, destination.stateSeconds.map { Readable.duration($0) } ?? "-",
                Readable.grouped(destination.delivered),
                Readable.grouped(UInt64(destination.eventsPerSecond.rounded().clamped)),
                Readable.grouped(destination.filtered),
                Readable.grouped(destination.deadLettered), Readable.grouped(destination.retries),
                Readable.grouped(destination.lagEvents),
                destination.lagEvents > 0 ? Readable.duration(destination.lagSeconds) : "-", error)
        }
        text += destinations.render { column, cell in
            guard column == 1 else { return cell }
            let word = String(cell.prefix { $0 != " " })
            let state = StatusReport.Destination.State(rawValue: word)
            return coloured(word, state.map { .init($0) } ?? .plain) + cell.dropFirst(word.count)
        }

        text += latencies(report)
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

    /// The TCP addresses on which sources listen, with the ports that the kernel chose.
    private static func addresses(_ sources: [String: StatusReport.Source]) -> String {
        sources.sorted { $0.key < $1.key }.map { name, source in
            source.listens.filter { $0.contains("://") }.map {
                "\(name.withControlCharactersEscaped): listens at \($0.withControlCharactersEscaped)\n"
            }.joined()
        }.joined()
    }

    /// For sockets that systemd creates: where their access is configured.
    private static func socketUnits(_ sources: [String: StatusReport.Source]) -> String {
        sources.sorted { $0.key < $1.key }.compactMap { name, source in
            source.socketUnit.map {
                "\(name.withControlCharactersEscaped): "
                    + "\(source.listens.joined(separator: ", ").withControlCharactersEscaped), "
                    + "\($0.withControlCharactersEscaped)\n"
            }
        }.joined()
    }

    /// The state of source plugins.
    private static func plugins(_ sources: [String: StatusReport.Source], _ style: ANSIStyle) -> String {
        sources.sorted { $0.key < $1.key }.compactMap { name, source in
            guard let state = source.state else { return nil }
            var line = "\(name.withControlCharactersEscaped): "
            if let plugin = source.plugin {
                line += "plugin \(plugin.name) \(plugin.version), ".withControlCharactersEscaped
            }
            let lanes = Readable.counted(UInt64(clamping: source.openLanes ?? 0), "lane")
            line += "\(style(state.rawValue, ScreenLine.Style(state).colour)), reads \(lanes)"
            if let lag = source.lagSeconds, lag >= 1 { line += ", \(Readable.duration(lag)) behind" }
            if let restarts = source.restarts, restarts > 0 {
                line += ", restarted \(Readable.counted(restarts, "time"))"
            }
            return line + (state == .up ? "" : because(source.lastError)) + "\n"
        }.joined()
    }

    /// The errors of the last refused reload, in full.
    private static func refusal(_ reload: StatusReport.RefusedReload) -> String {
        var text =
            "the reload at \(reload.time.withControlCharactersEscaped) was refused; "
            + "the previous configuration stays in effect:\n"
        for line in reload.errors.joined(separator: "\n").split(separator: "\n") {
            text += "    \(String(line).withControlCharactersEscaped)\n"
        }
        return text
    }

    /// A line for each source that has counted something since the start.
    /// - Parameter words: what was counted, after the source's name.
    private static func counts(
        _ counts: KeyPath<StatusReport.Source, [String: UInt64]>, _ words: String,
        of sources: [String: StatusReport.Source]
    ) -> String {
        sources.sorted { $0.key < $1.key }.filter { !$0.value[keyPath: counts].isEmpty }.map { name, source in
            let list = source[keyPath: counts].sorted { $0.key < $1.key }
                .map { "\($0.key.withControlCharactersEscaped) \(Readable.grouped($0.value))" }
            return "\(name.withControlCharactersEscaped) \(words): \(list.joined(separator: ", "))\n"
        }.joined()
    }

    /// How long commits, syncs and deliveries took in the last minute.
    private static func latencies(_ report: StatusReport) -> String {
        var rows = [("journal commit", report.journal.commit), ("journal sync", report.journal.sync)]
        rows += report.destinations.sorted { $0.key < $1.key }.map { ("delivery to \($0.key)", $0.value.latency) }
        var table = TextTable("LATENCY (LAST MINUTE)", ">P50", ">P99")
        var isEmpty = true
        for (name, latency) in rows {
            guard let latency else { continue }
            isEmpty = false
            table.add(name, Readable.latency(latency.p50), Readable.latency(latency.p99))
        }
        return isEmpty ? "" : "\n" + table.render()
    }

    /// The limits of the journal, and what happens when it is full.
    private static func retention(_ journal: StatusReport.Journal) -> String {
        var text =
            "journal: keeps at most \(Readable.size(journal.retainBytes))"
            + " and \(Readable.duration(journal.retainSeconds)), when full:"
        text += " \(journal.whenFull.withControlCharactersEscaped)\n"
        let removed = journal.removedForSpace
        if removed > 0 {
            text +=
                "journal: \(Readable.counted(removed, "delivered segment")) removed early: the filesystem was full\n"
        }
        return text
    }

    /// The events that `drop_oldest` has dropped, per destination.
    private static func dropped(_ destinations: [String: StatusReport.Destination]) -> String {
        let lines = destinations.filter { $0.value.dropped > 0 }.sorted { $0.key < $1.key }.map { name, destination in
            "\(name.withControlCharactersEscaped) lost its oldest \(Readable.counted(destination.dropped, "event")): "
                + "the journal was full\n"
        }
        return lines.isEmpty ? "" : "\n" + lines.joined()
    }

    /// The state of replays and of dead letters.
    private static func backfills(_ destinations: [String: StatusReport.Destination]) -> String {
        var lines: [String] = []
        for (name, destination) in destinations.sorted(by: { $0.key < $1.key }) {
            let name = name.withControlCharactersEscaped
            if let replay = destination.replay {
                lines.append(
                    "\(name): replay \(replay.id) \(replay.state.rawValue), \(replay.percent) %, "
                        + "\(Readable.grouped(replay.delivered)) delivered\(because(replay.lastError))\n"
                )
            }
            guard let letters = destination.deadLetters, letters.letters + letters.expired > 0 else { continue }
            var line = "\(name): \(Readable.counted(letters.letters, "dead letter"))"
            if letters.isRetrying { line += ", being retried\(because(letters.lastError))" }
            if letters.expired > 0 {
                line += ", \(Readable.grouped(letters.expired)) expired (dead_letters.time, .size)"
            }
            lines.append(line + "\n")
        }
        return lines.isEmpty ? "" : "\n" + lines.joined()
    }

    /// Why events were filtered out. Omitted for a destination if the only reason is that no route leads to it.
    private static func filtered(_ destinations: [String: StatusReport.Destination]) -> String {
        var table = TextTable("DESTINATION", ">FILTERED", "BY")
        var isEmpty = true
        for (name, destination) in destinations.sorted(by: { $0.key < $1.key }) {
            guard destination.filteredByReason.contains(where: { $0.key != "no_route" && $0.value > 0 }) else {
                continue
            }
            isEmpty = false
            let reasons = destination.filteredByReason.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            table.add(
                name, Readable.grouped(destination.filtered),
                reasons.map { "\($0.key) \(Readable.grouped($0.value))" }.joined(separator: ", "))
        }
        return isEmpty ? "" : "\n" + table.render()
    }

    private static func because(_ error: String?) -> String {
        guard let error, !error.isEmpty else { return "" }
        return ": " + error.withControlCharactersEscaped
    }
}
