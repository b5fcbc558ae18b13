// Explanation: what a configuration does with an event, told instead of done. `penstock explain` and
// `penstock test` are its two uses.
//
// - An event goes through the same door, the same routers and the same request as in the daemon:
//   nothing is imitated, so what is told here is what happens there. Only the telling is of its own.
// - Secrets are never read: their names stand in their places, or what a test gives for them. What is
//   printed can go into a ticket as it is.
// - The same event, configuration and time give the same answer, down to the message id.
//
// It never opens a socket, never writes a file, never loads a plugin and never asks the network.

import Configuration
import Daemon
import Delivery
import Events
import Routing

/// What becomes of events, one after the other, under one configuration. What transforms remember
/// (`throttle`, `dedupe`) begins empty. One thread.
package final class EventExplainer {
    /// An explainer's journal has an identity of its own: message ids that are derived from it are the
    /// same every time, and are no daemon's.
    private static let journal = [UInt8](repeating: 0, count: 16)

    package let configuration: Configuration
    private let destinations: [DestinationExplainer]
    private let door: ExplainedDoor

    /// - Parameters:
    ///   - configuration: with stand-ins for its secrets.
    ///   - source: the source that the events come through; nil: the first.
    ///   - only: names of destinations to be told of; empty: all.
    package init(_ configuration: Configuration, source: String? = nil, only: [String] = [], journal: [UInt8]? = nil) {
        self.configuration = configuration
        door = ExplainedDoor(configuration.sources.first { source == nil || $0.name == source })
        destinations = configuration.destinations.filter { only.isEmpty || only.contains($0.name) }
            .map { DestinationExplainer($0, in: configuration, journal: journal ?? Self.journal) }
    }

    /// - Parameters:
    ///   - text: one line, as a client would send it.
    ///   - position: in the journal.
    ///   - receivedAt: nanoseconds since 1970-01-01 UTC.
    package func explain(_ text: [UInt8], position: UInt64, receivedAt: Int64) -> EventExplanation {
        let batch: EventBatch
        switch door.admit(text, position: position, receivedAt: receivedAt) {
        case .success(let admitted): batch = admitted
        case .failure(let refused):
            return EventExplanation(
                text: text, source: door.source, position: position, receivedAt: receivedAt, verdict: .refused(refused.refusal))
        }
        return explain(batch, text)
    }

    /// - Parameter batch: of one event that was accepted before.
    package func explain(accepted batch: EventBatch) -> EventExplanation {
        explain(batch, batch.events.first.map { Array(batch.bytes[$0.range]) } ?? [])
    }

    private func explain(_ batch: EventBatch, _ text: [UInt8]) -> EventExplanation {
        let event = batch.events[0]
        return EventExplanation(
            text: Array(batch.bytes[event.range]), source: batch.origins.first?.source, position: event.position,
            receivedAt: event.receivedAt, verdict: .accepted(destinations.map { $0.explain(event, of: batch) }))
    }
}

/// One event's story.
package struct EventExplanation: Sendable {
    package enum Verdict: Sendable {
        case refused(Refusal)
        case accepted([DestinationExplanation])
    }

    /// The event's JSON, or what was taken for it.
    package var text: [UInt8]
    /// nil: the configuration has no source.
    package var source: String?
    package var position: UInt64
    package var receivedAt: Int64
    package var verdict: Verdict

    package var destinations: [DestinationExplanation] {
        if case .accepted(let destinations) = verdict { destinations } else { [] }
    }
}
