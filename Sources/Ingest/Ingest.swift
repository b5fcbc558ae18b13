// Ingest: from a socket to the journal.
//
// - It validates and admits; it never changes an event, unless it is told to (a source's scrub, a tracking plan that notes what
//   is wrong), and never drops one without a named reason that is counted and, if the client asked, told.
// - A line is refused by itself: neighbours and other clients notice nothing.
// - Back-pressure is the kernel's: while the journal is busy, a client's socket is not read.
// - An acknowledgement is sent only after the journal said that the events are durable.
// - Memory is bounded: a client owns at most what one turn of reading delivers, one unfinished
//   line, and its unread answers.
//
// It runs on SwiftNIO's event loops. It knows the journal only as an `EventAppender`.
//
// A stream socket's protocol is told by its first byte. NDJSON is the one there is now; another
// one gets its own connection handler, chosen where `SourceListener` sets a channel up.

import Events
import NIOCore
import Platform
import Synchronization

/// All sources' listeners, and the way by which the journal's news reaches their connections.
package final class Ingest: Sendable {
    private let group: any EventLoopGroup
    private let appender: any EventAppender
    private let clock: any Clock
    private let listeners = Mutex<[String: SourceListener]>([:])
    /// Of every source, those removed by a reload included, whose connections live on.
    /// Each lives as long as its listener or one of its connections.
    private let places = Mutex<[Place]>([])

    /// One source's connections on one event loop.
    private struct Place {
        weak var waiting: WaitingConnections?
        var statistics: SourceStatistics
    }

    package init(group: any EventLoopGroup, appender: any EventAppender, clock: any Clock) {
        self.group = group
        self.appender = appender
        self.clock = clock
    }

    /// Serves a source on a listening socket, in place of the one that it has. From one thread.
    ///
    /// - Parameters:
    ///   - descriptor: a listening AF_UNIX stream socket; owned by the listener from here on.
    ///   - inspector: makes one for each event loop, if events are looked at before they are stored.
    ///   - scrubber: makes one for each event loop, if events are scrubbed before they are stored.
    ///   - statistics: carried on over reloads by the caller.
    /// - Returns: when the socket is served.
    package func listen(
        source: String, descriptor: consuming Platform.FileDescriptor, limits: SourceLimits, admission: Admission,
        statistics: SourceStatistics, inspector: () -> (any EventInspector)? = { nil },
        scrubber: () -> (any EventScrubber)? = { nil }
    ) throws {
        var doors: [ObjectIdentifier: SourceListener.LoopState] = [:]
        for loop in group.makeIterator() {
            let waits = WaitingConnections(loop: loop)
            doors[ObjectIdentifier(loop)] = SourceListener.LoopState(
                door: SourceDoor(
                    limits: limits, appender: appender, statistics: statistics, clock: clock, inspector: inspector(),
                    scrubber: scrubber()),
                waiting: waits)
            places.withLock { places in
                places.removeAll { $0.waiting == nil }
                places.append(Place(waiting: waits, statistics: statistics))
            }
        }
        // One at a time accepts from a socket that both may hold; meanwhile connections wait in it.
        let old = listeners.withLock { $0[source] }
        old?.pause()
        let listener: SourceListener
        do {
            listener = try SourceListener(
                source: source, group: group, descriptor: descriptor, loops: doors, limits: limits,
                admission: admission, statistics: statistics, clock: clock)
        } catch {
            old?.resume()
            throw error
        }
        listeners.withLock { $0[source] = listener }
        old?.stop()
    }

    /// Accepts no new connections for a source; those there are go on. They may wait in the socket
    /// for another listener on it.
    package func stopListening(source: String) {
        listeners.withLock { $0.removeValue(forKey: source) }?.stop()
    }

    /// The same for all sources; returns when their sockets are closed. Not on an event loop.
    package func stopListening() {
        let all = listeners.withLock { listeners in
            defer { listeners = [:] }
            return Array(listeners.values)
        }
        for closed in all.map({ $0.stop() }) {
            // It fails for nobody: the socket is closed, one way or another.
            try? closed.wait()
        }
    }

    /// Goes on reading what clients have sent already, until they have been quiet for a moment or
    /// the deadline passes. What they sent lies in the kernel, and ends with the connection.
    ///
    /// Quiet is: nothing came for some time, in which every event loop looked at all of its sockets
    /// several times (on a busy machine time alone says nothing), and no client waits for the journal.
    ///
    /// - Parameter moreToCome: whether clients are about to be let in.
    package func drain(by deadline: Instant, while moreToCome: () -> Bool) {
        let pause = Doorbell()
        var last = settledLines
        var quietSince = clock.now()
        var quietTurns = 0
        while clock.now() < deadline, clock.now() - quietSince < Self.quietTime || quietTurns < Self.quietTurns {
            turnLoops(by: deadline)
            pause.wait(until: min(deadline, clock.now() + .milliseconds(5)))
            let now = settledLines
            let isBusy = moreToCome() || waiting.contains(where: \.hasStalled)
            quietTurns += 1
            if now != last || isBusy {
                last = now
                quietSince = clock.now()
                quietTurns = 0
            }
        }
    }

    /// How long nothing must have come for clients to count as quiet.
    private static let quietTime = Duration.milliseconds(100)
    /// In how many turns of every event loop.
    private static let quietTurns = 4

    /// Waits until every event loop has turned once.
    private func turnLoops(by deadline: Instant) {
        let done = Doorbell()
        let turns = group.makeIterator().map { $0.submit {} }
        EventLoopFuture.andAllComplete(turns, on: group.next()).whenComplete { _ in done.ring() }
        done.wait(until: deadline)
    }

    private var settledLines: UInt64 {
        let sources = places.withLock { places in
            Dictionary(places.map { (ObjectIdentifier($0.statistics), $0.statistics) }, uniquingKeysWith: { one, _ in one })
        }
        return sources.values.reduce(0) { sum, one in
            let now = one.snapshot()
            return sum + now.accepted + now.refused
        }
    }

    private var waiting: [WaitingConnections] { places.withLock { $0.compactMap(\.waiting) } }

    /// The journal committed: acknowledgements can go. Any thread; cheap if nobody waits.
    package func journalCommitted() {
        for waits in waiting { waits.wakeIfDurable() }
    }

    /// The journal has room again after it was busy. Any thread.
    package func journalHasRoom() {
        for waits in waiting { waits.wakeForRoom() }
    }
}
