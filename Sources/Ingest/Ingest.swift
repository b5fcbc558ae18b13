// Ingest: from a socket to the journal.
//
// - It validates and admits; it never changes an event, and never drops one without a named
//   reason that is counted and, if the client asked, told.
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
    private let waiting = Mutex<[WaitingConnections]>([])
    private let statistics = Mutex<[ObjectIdentifier: SourceStatistics]>([:])

    package init(group: any EventLoopGroup, appender: any EventAppender, clock: any Clock) {
        self.group = group
        self.appender = appender
        self.clock = clock
    }

    /// Serves a source on a listening socket, in place of the one that it has. From one thread.
    ///
    /// - Parameters:
    ///   - descriptor: a listening AF_UNIX stream socket; owned by the listener from here on.
    ///   - statistics: carried on over reloads by the caller.
    /// - Returns: when the socket is served.
    package func listen(
        source: String, descriptor: consuming Platform.FileDescriptor, limits: SourceLimits, admission: Admission,
        statistics: SourceStatistics
    ) throws {
        self.statistics.withLock { $0[ObjectIdentifier(statistics)] = statistics }
        var doors: [ObjectIdentifier: SourceListener.LoopState] = [:]
        for loop in group.makeIterator() {
            let waits = WaitingConnections(loop: loop)
            doors[ObjectIdentifier(loop)] = SourceListener.LoopState(
                door: SourceDoor(limits: limits, appender: appender, statistics: statistics, clock: clock),
                waiting: waits)
            waiting.withLock { $0.append(waits) }
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

    /// Accepts no new connections for a source; those there are go on.
    package func stopListening(source: String) {
        listeners.withLock { $0.removeValue(forKey: source) }?.stop()
    }

    package func stopListening() {
        let all = listeners.withLock { listeners in
            defer { listeners = [:] }
            return Array(listeners.values)
        }
        for listener in all { listener.stop() }
    }

    /// Goes on reading what clients have sent already, until they have been quiet for a moment or
    /// the deadline passes. What they sent lies in the kernel, and ends with the connection.
    package func drain(by deadline: Instant) {
        let pause = Doorbell()
        var last = settledLines
        var quietSince = clock.now()
        while clock.now() < deadline, clock.now() - quietSince < Self.quietTime {
            pause.wait(until: clock.now() + .milliseconds(5))
            let now = settledLines
            if now != last {
                last = now
                quietSince = clock.now()
            }
        }
    }

    /// How long nothing must have come for clients to count as quiet.
    private static let quietTime = Duration.milliseconds(100)

    private var settledLines: UInt64 {
        statistics.withLock { statistics in
            statistics.values.reduce(0) { sum, one in
                let now = one.snapshot()
                return sum + now.accepted + now.refused
            }
        }
    }

    /// The journal committed: acknowledgements can go. Any thread; cheap if nobody waits.
    package func journalCommitted() {
        waiting.withLock { for waits in $0 { waits.wakeIfDurable() } }
    }

    /// The journal has room again after it was busy. Any thread.
    package func journalHasRoom() {
        waiting.withLock { for waits in $0 { waits.wakeForRoom() } }
    }
}
