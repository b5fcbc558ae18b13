import Configuration
import Delivery
import Destinations
import Events
import Routing

/// Prints the explanation of an event for people.
package struct ExplanationText {
    private let paint: ANSIStyle

    package init(_ paint: ANSIStyle) { self.paint = paint }

    package func render(_ explanation: EventExplanation) -> String {
        var lines = [heading(explanation)]
        switch explanation.verdict {
        case .refused(let refusal):
            lines.append(paint("✗ refused: ", .red) + paint(refusal.reason.rawValue, .bold))
            lines += indented([paint(refusal.detail)])
        case .accepted(let destinations):
            lines += scrubbing(explanation)
            if destinations.isEmpty { lines.append(paint("there is no destination", .yellow)) }
            for destination in destinations { lines += [""] + self.lines(destination) }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func scrubbing(_ explanation: EventExplanation) -> [String] {
        guard let stored = explanation.stored else { return [] }
        let changes = Self.changes(explanation.text, stored, paint)
        return changes.isEmpty
            ? [] : [paint("changed", .bold) + paint(" before it is stored", .dim)] + indented(changes)
    }

    /// `track "Order Completed" of user ada, 203 bytes, through source apps`
    private func heading(_ explanation: EventExplanation) -> String {
        let tree = JSONTree(explanation.text)
        var words: [String] = []
        if case .string(let type)? = tree?["type"] { words.append(type) } else { words.append("an event") }
        if case .string(let name)? = tree?["event"] ?? tree?["name"] { words.append("\"\(name)\"") }
        if case .string(let user)? = tree?["userId"] {
            words.append("of user \(user)")
        } else if case .string(let anonymous)? = tree?["anonymousId"] {
            words.append("of anonymous \(anonymous)")
        }
        var facts = ["\(explanation.text.count) bytes", "received \(Timestamp.format(explanation.receivedAt))"]
        if let source = explanation.source { facts.append("source \(source)") }
        return paint(words.joined(separator: " "), .bold) + paint(" · " + facts.joined(separator: " · "), .dim)
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
                paint("✓ ", .green) + paint(explanation.name, .bold) + paint(route, .dim) + paint(refused, .yellow))
        case .filtered(let reason):
            lines.append(paint("✗ ", .red) + paint(explanation.name, .bold) + " · " + paint(sentence(reason), .red))
        case .rejected(let reason):
            lines.append(
                paint("! ", .yellow) + paint(explanation.name, .bold) + " · "
                    + paint("to the dead letters: \(reason)", .yellow))
        }
        lines += indented(explanation.trace.pipeline.flatMap { render($0, explanation.isAlone) })
        for event in explanation.trace.events { lines += indented(render(event, explanation.isAlone)) }
        if explanation.verdict == .routed { lines += indented(renderOutput(explanation)) }
        if explanation.output.events.count > 1 { lines += indented(renderRefused(explanation)) }
        return lines
    }

    private func sentence(_ reason: String) -> String {
        switch reason {
        case "no_route": "no route takes it (no_route)"
        case "integrations": "kept away by the event itself (integrations)"
        case "where": "the destination's own filter says no (where)"
        case "mapping": "the mapping comes to nothing (mapping)"
        default: "dropped by the transform \(reason)"
        }
    }

    private func render(_ event: EventTrace, _ isAlone: Bool) -> [String] {
        var lines: [String] = []
        if let taker = event.taker {
            if taker.filter.text != "true" { lines.append(paint("where \(taker.filter.text)", .dim)) }
        } else {
            if event.routes.isEmpty { lines.append(paint("no route names this destination")) }
            for route in event.routes {
                lines.append(paint(Self.label(route), .bold))
                lines += indented(Self.decisions(route.filter, paint))
            }
        }
        if let key = event.forbiddenBy { lines.append(paint("\(FieldPath(["integrations", key])) is false")) }
        return lines + event.steps.flatMap { render($0, isAlone) }
    }

    /// The route's name; a route without a name has its number: `route 2`.
    private static func label(_ route: RouteAnswer) -> String {
        route.name.hasPrefix("route ") ? route.name : "route \(route.name)"
    }

    // MARK: Filters

    /// The conditions that decided the filter's result, one per line, with the values of their fields.
    static func decisions(_ filter: FilterTrace, _ paint: ANSIStyle) -> [String] {
        var rows = AlignedRows()
        for condition in filter.reasons {
            let seen = condition.values.map { "\($0.text) is \($0.json.map { excerpt($0) } ?? "missing")" }
            rows.add(
                (condition.isTrue ? "true" : "false", condition.isTrue ? .green : .red), (condition.text, nil),
                (seen.joined(separator: ", "), .cyan))
        }
        return rows.lines(paint)
    }

    /// The value, cut to `limit` characters.
    static func excerpt(_ json: String, limit: Int = 60) -> String {
        let text = JSONTree(json)?.spacedText ?? json
        return text.count > limit ? text.prefix(limit - 1) + "…" : text
    }

    // MARK: Steps

    /// - Parameter isAlone: earlier events are unknown.
    private func render(_ step: StepTrace, _ isAlone: Bool) -> [String] {
        let title = paint(step.name, .bold) + paint(step.owner == .pipeline ? " in the pipeline" : "", .dim)
        switch step.outcome {
        case .passedOver:
            guard let filter = step.filter else { return [] }
            return [title + paint(" passes it by: where \(filter.text)", .dim)]
                + indented(Self.decisions(filter, paint))
        case .dropped:
            // A `where` step is the destination's own filter: show its conditions.
            guard step.name == "where", let filter = step.filter else { return [title + paint(" drops it", .red)] }
            return [paint("where \(filter.text)", .dim)] + indented(Self.decisions(filter, paint))
        case .rejected(let reason): return [title + paint(" fails: \(reason)", .yellow)]
        case .made where step.looksBack && isAlone:
            return [
                title + paint(" lets it pass, but depends on events before this input, which are not known", .yellow)
            ]
        case .made(let events): return step.name == "where" ? [] : effect(title, step.before, events)
        }
    }

    private func effect(_ title: String, _ before: String, _ events: [String]) -> [String] {
        guard let first = events.first, events.count == 1 else {
            return [title + " makes \(events.count) events of it"]
                + indented(events.map { paint(Self.excerpt($0, limit: 120)) })
        }
        let changes = Self.changes(Array(before.utf8), Array(first.utf8), paint)
        return changes.isEmpty ? [title + paint(" changes nothing", .dim)] : [title] + indented(changes)
    }

    /// The fields that differ, one per line.
    static func changes(_ before: [UInt8], _ after: [UInt8], _ paint: ANSIStyle) -> [String] {
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
        return rows.lines(paint)
    }

    // MARK: Output

    private func renderOutput(_ explanation: DestinationExplanation) -> [String] {
        var lines: [String] = []
        let last = explanation.trace.events.flatMap(\.results)
        let output = explanation.output.events.indices
        let mapped = output.filter(explanation.isMapped)
        if !mapped.isEmpty { lines.append(paint("mapping", .bold)) }
        for place in mapped {
            lines += indented(JSONTree(explanation.event(at: place))?.lines.map { paint($0, .green) } ?? [])
        }
        // The router itself may add a message id.
        for (place, before) in zip(output, last) where !mapped.contains(place) {
            lines += Self.changes(Array(before.utf8), explanation.event(at: place), paint)
        }
        lines += DeliveryText(paint).render(explanation.delivery, of: explanation)
        return lines
    }

    private func renderRefused(_ explanation: DestinationExplanation) -> [String] {
        explanation.refused.flatMap { refused in
            let event = String(decoding: explanation.event(at: refused.place), as: UTF8.self)
            return [paint("! to the dead letters: \(refused.reason)", .yellow), "  " + paint(event)]
        }
    }

    private func indented(_ lines: [String]) -> [String] { lines.map { $0.isEmpty ? "" : "    " + $0 } }
}
