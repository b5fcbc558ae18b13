import Assembly
import DaemonConfiguration
import Delivery
import Events
import Routing

/// The result of one test.
package struct TestOutcome: Sendable {
    package var test: ConfigurationTest
    /// Empty if the test passed.
    package var failures: [TestFailure] = []
    /// In seconds.
    package var duration: Double = 0

    package var holds: Bool { failures.isEmpty }
}

package struct TestFailure: Sendable {
    /// `collector: event 1 differs`
    package var summary: String
    /// The fields that differ: `before` is the expected value, `after` the actual one.
    package var changes: [JSONDifference.Change] = []
    /// How the destination arrived at its result.
    package var explanation: [DestinationExplanation] = []

    init(_ summary: String, changes: [JSONDifference.Change] = [], explanation: [DestinationExplanation] = []) {
        self.summary = summary
        self.changes = changes
        self.explanation = explanation
    }
}

/// Runs one test: explains its events with a new explainer, then compares the output of each destination with the
/// expected output.
package struct ConfigurationTestRun {
    private let test: ConfigurationTest
    private let explanations: [EventExplanation]

    package static func run(_ test: ConfigurationTest, of file: TestFile, under configuration: Configuration)
        -> TestOutcome
    {
        let start = ContinuousClock.now
        let run = ConfigurationTestRun(test, of: file, under: configuration)
        let failures = run.failures
        let duration = ContinuousClock.now - start
        return TestOutcome(test: test, failures: failures, duration: duration / .seconds(1))
    }

    private init(_ test: ConfigurationTest, of file: TestFile, under configuration: Configuration) {
        self.test = test
        let explainer = EventExplainer(configuration, source: test.source?.name, from: test.peer)
        let now = test.now ?? file.now
        explanations = test.events.enumerated().map { number, event in
            // A client sends an event on one line, but the test file may spread it over several.
            explainer.explain(
                Array(event.utf8.map { $0 == 0x0A ? 0x20 : $0 }), position: UInt64(number), receivedAt: now)
        }
    }

    private var failures: [TestFailure] {
        if let reason = test.refused { return refusalFailures(reason) }
        let refusals = explanations.enumerated().compactMap { number, explanation -> TestFailure? in
            guard case .refused(let refusal) = explanation.verdict else { return nil }
            return TestFailure("event \(number + 1) is refused: \(refusal.reason.rawValue): \(refusal.detail)")
        }
        guard refusals.isEmpty else { return refusals }
        return test.expectations.flatMap { ExpectationCheck($0, explanations(of: $0.destination.name)).failures }
            + othersFailures
    }

    private func explanations(of destination: String) -> [DestinationExplanation] {
        explanations.flatMap(\.destinations).filter { $0.name == destination }
    }

    private func refusalFailures(_ reason: String) -> [TestFailure] {
        explanations.enumerated().compactMap { number, explanation in
            guard case .refused(let refusal) = explanation.verdict else {
                return TestFailure("event \(number + 1): expected to be refused (\(reason)), but it is accepted")
            }
            if refusal.reason.rawValue == reason { return nil }
            return TestFailure(
                "event \(number + 1): expected to be refused for \(reason), "
                    + "but it is refused for \(refusal.reason.rawValue): \(refusal.detail)"
            )
        }
    }

    private var othersFailures: [TestFailure] {
        guard test.othersGetNothing else { return [] }
        let named = Set(test.expectations.map(\.destination.name))
        let others = explanations.flatMap(\.destinations).filter { !named.contains($0.name) && $0.verdict == .routed }
        return others.map {
            TestFailure("\($0.name): expected nothing (others: nothing), but it gets an event", explanation: [$0])
        }
    }
}
