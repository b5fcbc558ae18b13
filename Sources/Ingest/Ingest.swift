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

    package init(group: any EventLoopGroup, appender: any EventAppender, clock: any Clock) {
        self.group = group
        self.appender = appender
        self.clock = clock
    }

    /// Serves a source on a listening socket.
    ///
    /// - Parameters:
    ///   - descriptor: a listening AF_UNIX stream socket; owned by the listener from here on.
    ///   - statistics: carried on over reloads by the caller.
    /// - Returns: when the socket is served.
    package func listen(
        source: String, descriptor: consuming Platform.FileDescriptor, limits: SourceLimits, admission: Admission,
        statistics: SourceStatistics
    ) throws {
        var doors: [ObjectIdentifier: SourceListener.LoopState] = [:]
        for loop in group.makeIterator() {
            let waits = WaitingConnections(loop: loop)
            doors[ObjectIdentifier(loop)] = SourceListener.LoopState(
                door: SourceDoor(limits: limits, appender: appender, statistics: statistics, clock: clock),
                waiting: waits)
            waiting.withLock { $0.append(waits) }
        }
        let listener = try SourceListener(
            source: source, group: group, descriptor: descriptor, loops: doors, limits: limits,
            admission: admission, statistics: statistics, clock: clock)
        let old = listeners.withLock { listeners in
            let old = listeners[source]
            listeners[source] = listener
            return old
        }
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

    /// The journal committed: acknowledgements can go. Any thread; cheap if nobody waits.
    package func journalCommitted() {
        waiting.withLock { for waits in $0 { waits.wakeIfDurable() } }
    }

    /// The journal has room again after it was busy. Any thread.
    package func journalHasRoom() {
        waiting.withLock { for waits in $0 { waits.wakeForRoom() } }
    }
}
