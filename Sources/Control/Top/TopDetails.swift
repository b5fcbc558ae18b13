import Platform

/// The page of one source or destination.
struct TopDetails {
    private let screen: TopScreen
    private let row: TopState.Row

    init(_ screen: TopScreen, _ row: TopState.Row) {
        self.screen = screen
        self.row = row
    }

    func lines(_ width: Int) -> [ScreenLine] {
        let name = row.name.withControlCharactersEscaped
        switch row {
        case .source:
            guard let source = screen.report?.sources[row.name] else {
                return [ScreenLine(), ScreenLine("source \(name) is not in the report any more")]
            }
            return of(source, width)
        case .destination:
            guard let destination = screen.report?.destinations[row.name] else {
                return [ScreenLine(), ScreenLine("destination \(name) is not in the report any more")]
            }
            return of(destination, width)
        }
    }

    private func title(_ text: String, _ state: String, _ style: ScreenLine.Style) -> ScreenLine {
        var line = ScreenLine(text.withControlCharactersEscaped, .title)
        line.add("  ")
        line.add(state, style)
        return line
    }

    /// A line of the page: what, and how much.
    private func line(_ what: String, _ value: String, _ style: ScreenLine.Style = .plain) -> ScreenLine {
        var line = ScreenLine(ScreenText.fit(what, 16) + "  ", .faint)
        line.add(value.withControlCharactersEscaped, style)
        return line
    }

    private func rate(_ what: String, _ series: TopHistory.Series, _ width: Int) -> ScreenLine {
        let newest = screen.history.rate(of: series).map { Readable.grouped(UInt64($0.rounded().clamped)) } ?? "-"
        var line = line(what, ScreenText.fit(newest + "/s", 12))
        line.add(
            Sparkline.draw(screen.history.rates(of: series), width: min(TopHistory.length, max(0, width - 31))), .good)
        return line
    }

    private func counts(_ what: String, _ counts: [String: UInt64]) -> [ScreenLine] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
            line(what, "\($0.key) \(Readable.grouped($0.value))")
        }
    }

    private func of(_ source: StatusReport.Source, _ width: Int) -> [ScreenLine] {
        var lines = [
            ScreenLine(),
            title("source \(row.name)", source.state?.rawValue ?? "", source.state.map { .init($0) } ?? .good),
        ]
        lines.append(rate("accepted", .accepted(source: row.name), width))
        lines.append(rate("refused", .refused(source: row.name), width))
        lines.append(line("accepted", Readable.grouped(source.accepted)))
        lines.append(line("refused", Readable.grouped(source.refused)))
        lines += counts("  for", source.refusedByReason)
        lines += counts("against the plan", source.violationsByReason)
        lines += counts("normalised", source.normalised)
        if source.duplicates > 0 { lines.append(line("duplicates", Readable.grouped(source.duplicates))) }
        lines.append(line("connections", "\(source.connections)"))
        lines += counts("limits", source.limits)
        lines += source.listens.map { line("listens at", $0) }
        if let plugin = source.plugin { lines += of(plugin) }
        if let error = source.lastError { lines.append(line("last error", error, .bad)) }
        let refusals = screen.report?.recentRefusals.filter { $0.source == row.name }.suffix(10) ?? []
        if !refusals.isEmpty { lines += [ScreenLine(), ScreenLine("latest refusals", .title)] }
        for refusal in refusals {
            lines.append(
                ScreenLine("\(refusal.time) \(refusal.reason): \(refusal.detail)".withControlCharactersEscaped))
        }
        return lines
    }

    private func of(_ destination: StatusReport.Destination, _ width: Int) -> [ScreenLine] {
        var state = destination.state.rawValue
        if let seconds = destination.stateSeconds { state += " for \(Readable.duration(seconds))" }
        var lines = [ScreenLine(), title("destination \(row.name)", state, TopScreen.style(destination.state))]
        lines.append(rate("delivered", .delivered(destination: row.name), width))
        lines.append(line("delivered", Readable.grouped(destination.delivered)))
        if let latency = destination.latency {
            lines.append(line("latency", "p50 \(Readable.latency(latency.p50)), p99 \(Readable.latency(latency.p99))"))
        }
        lines.append(line("filtered out", Readable.grouped(destination.filtered)))
        lines += counts("  by", destination.filteredByReason)
        let age = destination.lagEvents > 0 ? ", the oldest is \(Readable.duration(destination.lagSeconds)) old" : ""
        lines.append(line("lag", Readable.counted(destination.lagEvents, "event") + age))
        lines.append(line("settled below", "position \(destination.position)"))
        lines.append(line("retries", Readable.grouped(destination.retries)))
        lines.append(line("dead letters", Readable.grouped(destination.deadLettered)))
        if let letters = destination.deadLetters, letters.letters > 0 {
            let doing = letters.isRetrying ? ", being retried" : ""
            lines.append(
                line("  stored", "\(Readable.grouped(letters.letters))\(doing): penstock dead-letters list \(row.name)")
            )
        }
        if destination.dropped > 0 {
            lines.append(line("dropped", "\(Readable.grouped(destination.dropped)): the journal was full", .bad))
        }
        if let replay = destination.replay {
            lines.append(
                line(
                    "replay",
                    "\(replay.state.rawValue), \(replay.percent) %, \(Readable.grouped(replay.delivered)) delivered"))
        }
        if let plugin = destination.plugin { lines += of(plugin) }
        let style = TopScreen.style(destination.state)
        if let error = destination.lastError {
            lines.append(line("last error", error, destination.state == .up ? .plain : style))
            if let time = destination.lastErrorTime { lines.append(line("  at", time)) }
        }
        if let answer = destination.lastAnswer { lines.append(line("  answer", answer)) }
        if let next = destination.nextAttemptSeconds {
            lines.append(line("next attempt", "in \(Readable.duration(next))"))
        }
        return lines
    }

    private func of(_ plugin: StatusReport.Plugin) -> [ScreenLine] {
        var lines = [line("plugin", "\(plugin.name) \(plugin.version)")]
        for (name, value) in plugin.counters.sorted(by: { $0.key < $1.key }) {
            lines.append(line("  \(name)", Readable.grouped(value)))
        }
        for (name, value) in plugin.gauges.sorted(by: { $0.key < $1.key }) {
            lines.append(line("  \(name)", "\((value * 1000).rounded() / 1000)"))
        }
        return lines
    }
}
