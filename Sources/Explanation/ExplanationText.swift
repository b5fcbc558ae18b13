import DaemonConfiguration
import Delivery
import Destinations
import Events
import Platform
import Routing

/// Renders the explanation of an event for people.
package struct ExplanationText {
    private let style: ANSIStyle

    package init(_ style: ANSIStyle) { self.style = style }

    package func render(_ explanation: EventExplanation) -> String {
        var lines = [heading(explanation)]
        switch explanation.verdict {
        case .refused(let refusal):
            lines.append(style("✗ refused: ", .red) + style(refusal.reason.rawValue, .bold))
            lines += indented([style(refusal.detail)])
        case .accepted(let destinations):
            lines += scrubbing(explanation)
            if destinations.isEmpty { lines.append(style("there is no destination", .yellow)) }
            for destination in destinations { lines += [""] + self.lines(destination) }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func scrubbing(_ explanation: EventExplanation) -> [String] {
        guard let stored = explanation.stored else { return [] }
        let changes = Self.changes(explanation.text, stored, style)
        return changes.isEmpty
            ? [] : [style("changed", .bold) + style(" before it is stored", .dim)] + indented(changes)
    }

    /// `track "Order Completed" of user ada · 203 bytes · received … · source apps · uid 33 (www-data), gid 33, pid 7`
    private func heading(_ explanation: EventExplanation) -> String {
        let tree = JSONTree(explanation.text)
        var words: [String] = []
        if case .string(let type)? = tree?["type"] { words.append(type) } else { words.append("an event") }
        if case .string(let name)? = tree?["event"] ?? tree?["name"] { words.append("\"\(name)\"") }
        if case .string(let user)? = tree?["userId"], !user.isEmpty {
            words.append("of user \(user)")
        } else if case .string(let anonymous)? = tree?["anonymousId"], !anonymous.isEmpty {
            words.append("of anonymous \(anonymous)")
        }
        var facts = ["\(explanation.text.count) bytes", "received \(Timestamp.format(explanation.receivedAt))"]
        if let source = explanation.sender.source { facts.append("source \(source)") }
        if let peer = explanation.sender.peerText { facts.append(peer) }
        return style(words.joined(separator: " "), .bold) + style(" · " + facts.joined(separator: " · "), .dim)
    }

    // MARK: One destination

    func lines(_ explanation: DestinationExplanation) -> [String] {
        var lines: [String] = []
        switch explanation.verdict {
        case .routed:
            let routes = explanation.trace.events.compactMap(\.taker)
            let route = routes.first.map { " · " + Self.label($0) } ?? ""
            let refused =
                explanation.refused.isEmpty
                ? ""
                : " · \(explanation.refused.count) of \(explanation.output.events.count) events to the dead letters"
            lines.append(
                style("✓ ", .green) + style(explanation.name, .bold) + style(route, .dim) + style(refused, .yellow))
        case .filtered(let reason):
            lines.append(
                style("✗ ", .red) + style(explanation.name, .bold) + " · " + style(Self.sentence(reason), .red))
        case .rejected(let reason):
            lines.append(
                style("! ", .yellow) + style(explanation.name, .bold) + " · "
                    + style("to the dead letters: \(reason)", .yellow))
        }
        lines += indented(explanation.trace.pipeline.flatMap { render($0, explanation.isAlone) })
        for event in explanation.trace.events { lines += indented(render(event, explanation.isAlone)) }
        if explanation.verdict == .routed { lines += indented(renderOutput(explanation)) }
        if explanation.output.events.count > 1 { lines += indented(renderRefused(explanation)) }
        return lines
    }

    /// Why a destination does not get an event.
    static func sentence(_ reason: String) -> String {
        switch reason {
        case "no_route": "no route selects the event (no_route)"
        case "integrations": "excluded by the event's integrations (integrations)"
        case "where": "the destination's filter does not match (where)"
        case "mapping": "the result of the mapping is missing (mapping)"
        default: "dropped by the transform \(reason)"
        }
    }

    private func render(_ event: EventTrace, _ isAlone: Bool) -> [String] {
        var lines: [String] = []
        if let taker = event.taker {
            if taker.filter.text != "true" { lines.append(style("where \(taker.filter.text)", .dim)) }
        } else {
            if event.routes.isEmpty { lines.append(style("no route names this destination")) }
            for route in event.routes {
                lines.append(style(Self.label(route), .bold))
                lines += indented(Self.decisions(route.filter, style))
            }
        }
        if let key = event.forbiddenBy { lines.append(style("\(FieldPath(["integrations", key])) is false")) }
        return lines + event.steps.flatMap { render($0, isAlone) }
    }

    /// The route's name; a route without a name has its number: `route 2`.
    private static func label(_ route: RouteAnswer) -> String {
        route.name.hasPrefix("route ") ? route.name : "route \(route.name)"
    }

    // MARK: Filters

    /// The conditions that decided the filter's result, one per line, with the values of their fields.
    static func decisions(_ filter: FilterTrace, _ style: ANSIStyle) -> [String] {
        var rows = AlignedRows()
        for condition in filter.reasons {
            let seen = condition.values.map { "\($0.text) is \($0.json.map { excerpt($0) } ?? "missing")" }
            rows.add(
                (condition.isTrue ? "true" : "false", condition.isTrue ? .green : .red), (condition.text, nil),
                (seen.joined(separator: ", "), .cyan))
        }
        return rows.lines(style)
    }

    /// The value, cut to `limit` characters.
    static func excerpt(_ json: String, limit: Int = 60) -> String {
        let text = JSONTree(json)?.spacedText ?? json
        return text.count > limit ? text.prefix(limit - 1) + "…" : text
    }

    // MARK: Steps

    /// - Parameter isAlone: earlier events are unknown.
    private func render(_ step: StepTrace, _ isAlone: Bool) -> [String] {
        let title = style(step.name, .bold) + style(step.owner == .pipeline ? " in the pipeline" : "", .dim)
        switch step.outcome {
        case .passedOver:
            guard let filter = step.filter else { return [] }
            return [title + style(" is skipped: where \(filter.text)", .dim)]
                + indented(Self.decisions(filter, style))
        case .dropped:
            // A `where` step is the destination's own filter: show its conditions.
            guard step.name == "where", let filter = step.filter else { return [title + style(" drops it", .red)] }
            return [style("where \(filter.text)", .dim)] + indented(Self.decisions(filter, style))
        case .rejected(let reason): return [title + style(" fails: \(reason)", .yellow)]
        case .made where step.looksBack && isAlone:
            return [
                title + style(" passes the event, but depends on earlier events, which are not known", .yellow)
            ]
        case .made(let events): return step.name == "where" ? [] : effect(title, step.before, events)
        }
    }

    private func effect(_ title: String, _ before: String, _ events: [String]) -> [String] {
        guard let first = events.first, events.count == 1 else {
            return [title + " returns \(events.count) events"]
                + indented(events.map { style(Self.excerpt($0, limit: 120)) })
        }
        let changes = Self.changes(Array(before.utf8), Array(first.utf8), style)
        return changes.isEmpty ? [title + style(" changes nothing", .dim)] : [title] + indented(changes)
    }

    /// The fields that differ, one per line.
    static func changes(_ before: [UInt8], _ after: [UInt8], _ style: ANSIStyle) -> [String] {
        guard let before = JSONTree(before), let after = JSONTree(after) else { return [] }
        var rows = AlignedRows(widest: 40)
        for change in JSONDifference(from: before, to: after).changes {
            let path = change.path.isEmpty ? "the event" : change.path
            let old = change.before.map { excerpt($0.text) } ?? ""
            let new = change.after.map { excerpt($0.text) } ?? ""
            switch (change.before, change.after) {
            case (nil, _): rows.add(("+ " + path, .green), (new, .green))
            case (_, nil): rows.add(("- " + path, .red), (old, .red))
            default: rows.add(("~ " + path, .yellow), ("\(old) → \(new)", .yellow))
            }
        }
        return rows.lines(style)
    }

    // MARK: Output

    private func renderOutput(_ explanation: DestinationExplanation) -> [String] {
        var lines: [String] = []
        let last = explanation.trace.events.flatMap(\.results)
        let output = explanation.output.events.indices
        let mapped = output.filter(explanation.isMapped)
        if !mapped.isEmpty { lines.append(style("mapping", .bold)) }
        for place in mapped {
            lines += indented(JSONTree(explanation.event(at: place))?.lines.map { style($0, .green) } ?? [])
        }
        // The router itself may add a message id.
        for (place, before) in zip(output, last) where !mapped.contains(place) {
            lines += Self.changes(Array(before.utf8), explanation.event(at: place), style)
        }
        lines += DeliveryText(style).render(explanation.delivery, of: explanation)
        return lines
    }

    private func renderRefused(_ explanation: DestinationExplanation) -> [String] {
        explanation.refused.flatMap { refused in
            let event = String(decoding: explanation.event(at: refused.place), as: UTF8.self)
            return [style("! to the dead letters: \(refused.reason)", .yellow), "  " + style(event)]
        }
    }

    private func indented(_ lines: [String]) -> [String] { lines.map { $0.isEmpty ? "" : "    " + $0 } }
}
