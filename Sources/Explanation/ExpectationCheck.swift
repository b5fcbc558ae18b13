import Assembly
import DaemonConfiguration
import Delivery
import Destinations
import Events
import Routing

/// Compares the output of one destination with the output that a test expects.
struct ExpectationCheck {
    private let expected: ExpectedDelivery
    /// The explanations of the test's events.
    private let explanations: [DestinationExplanation]
    private let name: String

    init(_ expected: ExpectedDelivery, _ explanations: [DestinationExplanation]) {
        self.expected = expected
        self.explanations = explanations
        name = expected.destination.name
    }

    var failures: [TestFailure] {
        if expected.nothing || expected.droppedBy != nil { return nothingFailures }
        let getsSomething =
            expected.events != nil || expected.requests != nil || expected.files != nil || !expected.absent.isEmpty
        if let text = expected.rejected, !getsSomething { return rejectionFailures(text) }
        var failures: [TestFailure] = []
        if let text = expected.rejected { failures += partialRejectionFailures(text) }
        if let events = expected.events { failures += eventFailures(events) }
        if let requests = expected.requests { failures += requestFailures(requests) }
        if let files = expected.files { failures += fileFailures(files) }
        failures += absenceFailures
        if expected.events == nil, expected.requests == nil, got.isEmpty {
            failures.append(TestFailure("\(name): expected an event, but it gets none", explanation: notRouted))
        }
        return failures
    }

    private var got: [[UInt8]] { explanations.flatMap(\.events) }
    /// The explanations of events that do not arrive, or only in part.
    private var notRouted: [DestinationExplanation] {
        explanations.filter { $0.verdict != .routed || !$0.refused.isEmpty }
    }

    // MARK: Nothing

    private var nothingFailures: [TestFailure] {
        explanations.compactMap { explanation in
            switch (explanation.verdict, expected.droppedBy) {
            case (.routed, _):
                TestFailure("\(name): expected nothing, but it gets an event", explanation: [explanation])
            case (.rejected(let reason), _):
                TestFailure("\(name): expected nothing, but the event becomes a dead letter: \(reason)")
            case (.filtered(let reason), let wanted?) where reason != wanted:
                TestFailure(
                    "\(name): expected to be dropped by \(wanted), but it is dropped by \(reason)",
                    explanation: [explanation])
            case (.filtered, _): nil
            }
        }
    }

    private func rejectionFailures(_ text: String) -> [TestFailure] {
        explanations.compactMap { explanation in
            switch explanation.verdict {
            case .rejected(let reason) where reason.contains(text): nil
            case .rejected(let reason):
                TestFailure("\(name): expected a dead letter with \"\(text)\", but its reason is: \(reason)")
            case .routed where !explanation.refused.isEmpty:
                TestFailure(
                    "\(name): expected a dead letter, but it gets some of the events that the transforms returned",
                    explanation: [explanation])
            case .routed:
                TestFailure("\(name): expected a dead letter, but it gets the event", explanation: [explanation])
            case .filtered:
                TestFailure("\(name): expected a dead letter, but it gets nothing", explanation: [explanation])
            }
        }
    }

    /// Checks dead letters when other events are expected to arrive.
    private func partialRejectionFailures(_ text: String) -> [TestFailure] {
        let reasons = explanations.flatMap { explanation -> [String] in
            if case .rejected(let reason) = explanation.verdict { [reason] } else { explanation.refused.map(\.reason) }
        }
        if reasons.isEmpty { return [TestFailure("\(name): expected a dead letter, but there is none")] }
        return reasons.filter { !$0.contains(text) }.map {
            TestFailure("\(name): expected a dead letter with \"\(text)\", but its reason is: \($0)")
        }
    }

    // MARK: Something

    private func eventFailures(_ events: [String]) -> [TestFailure] {
        guard events.count == got.count else {
            return [
                TestFailure(
                    "\(name): expected \(count(events.count, "event")), "
                        + "but it gets \(got.isEmpty ? "none" : count(got.count, "event"))",
                    explanation: events.count > got.count ? notRouted : explanations.filter { $0.verdict == .routed })
            ]
        }
        return zip(events, got).enumerated().compactMap { number, pair in
            guard let wanted = JSONTree(pair.0), let actual = JSONTree(pair.1) else {
                return TestFailure("\(name): event \(number + 1) is not JSON, so it cannot be compared")
            }
            return difference("event \(number + 1)", wanted, actual)
        }
    }

    private func difference(_ what: String, _ wanted: JSONTree, _ actual: JSONTree) -> TestFailure? {
        let match: JSONDifference.Match = expected.match == .whole ? .whole : .subset
        let difference = JSONDifference(expected: wanted, actual: actual, match)
        return difference.isEmpty ? nil : TestFailure("\(name): \(what) differs", changes: difference.changes)
    }

    private var absenceFailures: [TestFailure] {
        got.enumerated().flatMap { number, event in
            expected.absent.compactMap { path in
                guard let value = JSONTree(event)?[path] else { return nil }
                return TestFailure(
                    "\(name): event \(number + 1) has a field that must be absent",
                    changes: [.init(path: path.description, before: nil, after: value)])
            }
        }
    }

    private func fileFailures(_ wanted: [String]) -> [TestFailure] {
        var actual: [String] = []
        for explanation in explanations where explanation.verdict == .routed {
            guard case .files(let files) = explanation.delivery else { continue }
            for file in files where !actual.contains(file.path) { actual.append(file.path) }
        }
        // If nothing arrives, another failure reports that.
        guard wanted != actual, !actual.isEmpty else { return [] }
        let changes = (0..<max(wanted.count, actual.count)).map { number in
            JSONDifference.Change(
                path: "file", before: wanted.indices.contains(number) ? .string(wanted[number]) : nil,
                after: actual.indices.contains(number) ? .string(actual[number]) : nil)
        }
        return [TestFailure("\(name): the file differs", changes: changes.filter { $0.before != $0.after })]
    }

    // MARK: Requests

    /// The requests for the test's events, batched as if the events were received at the same time.
    private var requests: [HTTPRequestPreview] {
        guard let destination = explanations.first?.destination, case .http(let http) = destination.kind,
            let limits = try? HTTPDestination.limits(HTTPOptions(http, inFlight: destination.inFlight))
        else { return [] }
        // No cursor is written here, so the interval does not matter.
        let policy = DeliveryPolicy(destination, cursorInterval: .seconds(1))
        let batches = BatchPreview.batches(of: explanations.map(\.output), policy, limits)
        return batches.flatMap { batch -> [HTTPRequestPreview] in
            if case .requests(let requests) = ExplainedDelivery(batch, to: destination) { requests } else { [] }
        }
    }

    private func requestFailures(_ wanted: [ExpectedDelivery.Request]) -> [TestFailure] {
        let actual = requests
        guard wanted.count == actual.count else {
            return [
                TestFailure(
                    "\(name): expected \(count(wanted.count, "request")), "
                        + "but it is sent \(actual.isEmpty ? "none" : "\(actual.count)")",
                    explanation: wanted.count > actual.count ? notRouted : [])
            ]
        }
        return zip(wanted, actual).enumerated().compactMap { number, pair in
            let changes = changes(pair.0, pair.1)
            return changes.isEmpty ? nil : TestFailure("\(name): request \(number + 1) differs", changes: changes)
        }
    }

    private func changes(_ wanted: ExpectedDelivery.Request, _ actual: HTTPRequestPreview) -> [JSONDifference.Change] {
        var changes: [JSONDifference.Change] = []
        func compare(_ what: String, _ wanted: String?, _ actual: String) {
            if let wanted, wanted != actual {
                changes.append(.init(path: what, before: .string(wanted), after: .string(actual)))
            }
        }
        compare("method", wanted.method, actual.method)
        compare("url", wanted.url, actual.url)
        for header in wanted.headers {
            let value = actual.headers.first { $0.name.lowercased() == header.name.lowercased() }?.value
            guard value != header.value else { continue }
            changes.append(
                .init(
                    path: "headers.\(header.name)", before: header.value.map(JSONTree.string),
                    after: value.map(JSONTree.string)))
        }
        guard let body = wanted.body else { return changes }
        if wanted.bodyIsText {
            compare("body", body, String(decoding: actual.body, as: UTF8.self))
        } else if let wanted = JSONTree(body), let actual = Self.tree(actual.body) {
            let match: JSONDifference.Match = expected.match == .whole ? .whole : .subset
            changes += JSONDifference(expected: wanted, actual: actual, match).changes.map {
                .init(path: $0.path.isEmpty ? "body" : "body.\($0.path)", before: $0.before, after: $0.after)
            }
        }
        return changes
    }

    /// Parses a body as one JSON value, or as a list of values if it consists of lines.
    private static func tree(_ body: [UInt8]) -> JSONTree? {
        if body.last != UInt8(ascii: "\n") { return JSONTree(body) }
        let lines = body.split(separator: UInt8(ascii: "\n")).map { JSONTree(Array($0)) }
        return .list(lines.compactMap { $0 })
    }

    private func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

extension JSONTree {
    /// The value at a path, or nil.
    subscript(path: FieldPath) -> JSONTree? {
        var value = self
        for segment in path.segments {
            if case .list(let items) = value {
                guard let number = Int(segment), items.indices.contains(number) else { return nil }
                value = items[number]
            } else {
                guard let member = value[segment] else { return nil }
                value = member
            }
        }
        return value
    }
}
