// Explanation: what a configuration does with an event, told instead of done. `penstock explain` and
// `penstock test` are its two uses.
//
// - An event goes through the same door, the same routers and the same request as in the daemon:
//   nothing is imitated, so what is told here is what happens there. Only the telling is of its own.
// - Secrets are never read: their names stand in their places, or what a test gives for them. What is
//   printed can go into a ticket as it is.
// - The same event, earlier events, configuration and time give the same answer, down to the message id.
//
// It never opens a socket, never writes a file, never loads a plugin and never asks the network.

import Configuration
import Daemon
import Delivery
import Events
import Journal
import Routing

/// What becomes of events, one after the other, under one configuration. One thread.
package final class EventExplainer {
    /// A journal without an identity: message ids that are derived from it are the same every time, and
    /// are no daemon's.
    package static let noJournal = [UInt8](repeating: 0, count: 16)

    package let configuration: Configuration
    private let destinations: [DestinationExplainer]
    private let door: ExplainedDoor
    private let earlier: EarlierEvents

    /// - Parameters:
    ///   - configuration: with stand-ins for its secrets.
    ///   - source: the source that the events come through; nil: the first.
    ///   - only: names of destinations to be told of; empty: all.
    ///   - host: what the machine is called.
    ///   - earlier: the events that came before; those that it has told of count besides.
    package init(
        _ configuration: Configuration, source: String? = nil, only: [String] = [], host: String = "localhost",
        earlier: EarlierEvents = .none
    ) {
        self.configuration = configuration
        self.earlier = earlier
        var journal = Self.noJournal
        var isAlone = false
        switch earlier {
        case .none: break
        case .unknown: isAlone = true
        case .stored(let stored): journal = stored.journal
        }
        door = ExplainedDoor(configuration.sources.first { source == nil || $0.name == source }, in: configuration)
        destinations = configuration.destinations.filter { only.isEmpty || only.contains($0.name) }
            .map { DestinationExplainer($0, in: configuration, host: host, journal: journal, isAlone: isAlone) }
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
        var explanation = explain(batch.events[0], of: batch)
        if door.rewrites, explanation.text != text {
            explanation.stored = explanation.text
            explanation.text = text
        }
        return explanation
    }

    /// An event of the journal, behind all that came before it there.
    /// - Throws: when the journal cannot be read.
    package func explain(stored event: EventRecord, of batch: borrowing EventBatch) throws -> EventExplanation {
        if case .stored(let stored) = earlier {
            for destination in destinations { try destination.recall(before: event.position, stored) }
        }
        return explain(event, of: batch)
    }

    private func explain(_ event: EventRecord, of batch: borrowing EventBatch) -> EventExplanation {
        var verdicts: [DestinationExplanation] = []
        for destination in destinations { verdicts.append(destination.explain(event, of: batch)) }
        let origin = Int(event.origin)
        return EventExplanation(
            text: Array(batch.bytes[event.range]),
            source: batch.origins.indices.contains(origin) ? batch.origins[origin].source : nil,
            position: event.position, receivedAt: event.receivedAt, verdict: .accepted(verdicts))
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
    /// What the journal holds instead, once a tracking plan has noted what is wrong and the source has scrubbed it; nil: the same.
    package var stored: [UInt8]?
    /// nil: the configuration has no source.
    package var source: String?
    package var position: UInt64
    package var receivedAt: Int64
    package var verdict: Verdict

    package var destinations: [DestinationExplanation] {
        if case .accepted(let destinations) = verdict { destinations } else { [] }
    }
}
