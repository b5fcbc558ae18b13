// Explanation: previews what a configuration does with an event, without doing it. `penstock explain` and
// `penstock test` use it.
//
// Invariants:
//
// - An event passes the daemon's own code for admission, routing and building requests. Nothing is imitated, so the
//   preview shows what the daemon would do. Only the presentation is code of this room.
// - Secrets are never read. Their names, or the values that a test gives, replace them, so the output is safe to share.
// - The same event, earlier events, configuration and time always give the same result, including the message id.
//
// Threads: an `EventExplainer` and everything below it is used by one thread. It may block on the disk when it reads a
// journal.
//
// It never opens a socket, writes a file, loads a plugin or accesses the network.

import Assembly
import DaemonConfiguration
import Delivery
import Events
import Journal
import Routing

/// Explains events, one after the other, under one configuration. One thread.
package final class EventExplainer {
    /// The identity used when no journal is given. Message ids derived from it are the same every time and never equal
    /// those of a daemon.
    package static let noJournal = [UInt8](repeating: 0, count: 16)

    package let configuration: Configuration
    private let destinations: [DestinationExplainer]
    private let admission: AdmissionPreview
    private let earlier: EarlierEvents
    private let userNames: UserNames

    /// - Parameters:
    ///   - configuration: loaded with placeholders for its secrets (`withStandIns`).
    ///   - source: the name of the source that receives the events; nil: the first source.
    ///   - peer: the process that sends the events; nil: the kernel does not name it.
    ///   - userNames: the names of users other than that of `peer`.
    ///   - only: the names of the destinations to explain; empty: all.
    ///   - host: the host name that events are stamped with.
    ///   - earlier: the events before the first explained one. Events that this object has explained count as well.
    package init(
        _ configuration: Configuration, source: String? = nil, from peer: TestPeer? = nil, only: [String] = [],
        host: String = "localhost", earlier: EarlierEvents = .none, userNames: @escaping UserNames = { _ in nil }
    ) {
        let userNames: UserNames = { $0 == peer?.uid ? peer?.user ?? userNames($0) : userNames($0) }
        self.userNames = userNames
        self.configuration = configuration
        self.earlier = earlier
        var journal = Self.noJournal
        var isAlone = false
        switch earlier {
        case .none: break
        case .unknown: isAlone = true
        case .stored(let stored): journal = stored.journal
        }
        admission = AdmissionPreview(
            configuration.sources.first { source == nil || $0.name == source }, from: peer, in: configuration)
        destinations = configuration.destinations.filter { only.isEmpty || only.contains($0.name) }
            .map {
                DestinationExplainer(
                    $0, in: configuration, host: host, journal: journal, userNames: userNames, isAlone: isAlone)
            }
    }

    /// Explains an event as a client sends it.
    /// - Parameters:
    ///   - text: one line of JSON.
    ///   - position: its position in the journal.
    ///   - receivedAt: its receive time in nanoseconds since 1970-01-01 UTC.
    package func explain(_ text: [UInt8], position: UInt64, receivedAt: Int64) -> EventExplanation {
        let batch: EventBatch
        switch admission.admit(text, position: position, receivedAt: receivedAt) {
        case .success(let admitted): batch = admitted
        case .failure(let refused):
            return EventExplanation(
                text: text, sender: ExplainedSender(admission.origin, userNames), position: position,
                receivedAt: receivedAt,
                verdict: .refused(refused.refusal))
        }
        var explanation = explain(batch.events[0], of: batch)
        if admission.rewrites, explanation.text != text {
            explanation.stored = explanation.text
            explanation.text = text
        }
        return explanation
    }

    /// Explains an event of the journal, given the events before it in the journal.
    /// - Throws: an error if the journal cannot be read.
    package func explain(stored event: EventRecord, of batch: borrowing EventBatch) throws -> EventExplanation {
        if case .stored(let stored) = earlier {
            for destination in destinations { try destination.recall(before: event.position, stored) }
        }
        return explain(event, of: batch)
    }

    private func explain(_ event: EventRecord, of batch: borrowing EventBatch) -> EventExplanation {
        var verdicts: [DestinationExplanation] = []
        for destination in destinations { verdicts.append(destination.explain(event, of: batch)) }
        return EventExplanation(
            text: batch.text(of: event),
            sender: batch.origin(of: event).map { ExplainedSender($0, userNames) } ?? ExplainedSender(),
            position: event.position, receivedAt: event.receivedAt, verdict: .accepted(verdicts))
    }
}

/// The explanation of one event.
package struct EventExplanation: Sendable {
    package enum Verdict: Sendable {
        case refused(Refusal)
        case accepted([DestinationExplanation])
    }

    /// The input: the event's JSON, or an invalid line.
    package var text: [UInt8]
    /// The event as the journal stores it, if a tracking plan or the source has changed it (`scrub`, `ids`,
    /// `invalid_text`); nil: unchanged.
    package var stored: [UInt8]?
    package var sender: ExplainedSender
    package var position: UInt64
    package var receivedAt: Int64
    package var verdict: Verdict

    package var destinations: [DestinationExplanation] {
        if case .accepted(let destinations) = verdict { destinations } else { [] }
    }
}

/// The sender of an event, as `context.penstock` shows it.
package struct ExplainedSender: Sendable, Equatable {
    /// The source's name; nil if the configuration has no source.
    package var source: String?
    /// Nil: the kernel does not name the sender.
    package var peer: TestPeer?

    init() {}

    init(_ origin: Origin, _ userNames: UserNames) {
        source = origin.source.isEmpty ? nil : origin.source
        guard origin.hasPeer else { return }
        peer = TestPeer(
            uid: Int(origin.uid), gid: Int(origin.gid), pid: Int(origin.pid), user: userNames(origin.uid))
    }

    /// `uid 33 (www-data), gid 33, pid 1`. Nil: the kernel does not name the sender.
    var peerText: String? {
        peer.map { "uid \($0.uid)\($0.user.map { " (\($0))" } ?? ""), gid \($0.gid), pid \($0.pid)" }
    }
}
