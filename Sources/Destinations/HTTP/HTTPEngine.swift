import CCurl
import Glibc
import Platform
import Synchronization

/// The one thread that runs libcurl's transfers, for all HTTP destinations. It only transfers: events are read and
/// routed, and requests built, compressed and signed, on the threads of the pool that run the destinations' workers. So
/// nothing that a configuration says about one destination holds up the transfers of another.
///
/// Invariants: a destination leaves a handle that is ready to go, and does not touch it until the handle's end is in the
/// destination's mailbox. Every transfer begun is reported exactly once, unless it was taken back with `cancel`. The
/// thread never blocks but in `MultiHandle.wait`, at most `longestSleep`; so a heartbeat that stands still for several
/// seconds means that the thread hangs.
package final class HTTPEngine: @unchecked Sendable {
    package struct Limits: Sendable, Equatable {
        /// Connections open at once, for all destinations. Transfers above it wait, within
        /// their timeout: keep it above the sum of what destinations may have in flight, or a
        /// hanging one delays others.
        package var connections = 1024
        /// Connections open at once to one host and port.
        package var connectionsPerHost = 64
        /// Connections kept open while nothing uses them.
        package var idleConnections = 256

        package init() {}
    }

    package static let longestSleep: Duration = .seconds(1)
    private static let stopped = HTTPTransferEnd.failed("the HTTP engine was stopped")

    private let door: HTTPEngineDoor
    private let clock: any Clock
    private let stopping = Atomic<Bool>(false)
    private let beats = Atomic<UInt64>(0)
    private let thread = Mutex<WorkerThread?>(nil)

    // On the engine's thread only.
    private var mailboxes: [ObjectIdentifier: HTTPMailbox] = [:]
    private var ownThread: pthread_t?

    package init(limits: Limits = Limits(), clock: any Clock = SystemClock()) throws(HTTPEngineError) {
        do {
            door = HTTPEngineDoor(
                try MultiHandle(
                    connections: limits.connections, perHost: limits.connectionsPerHost, idle: limits.idleConnections))
        } catch {
            throw HTTPEngineError(description: error.description)
        }
        self.clock = clock
    }

    /// Starts the thread. Once. The engine lives until `stop`.
    package func start() {
        thread.withLock { thread in
            precondition(thread == nil && !stopping.load(ordering: .relaxed), "an HTTP engine is started once")
            thread = WorkerThread(name: "http") { self.run() }
        }
    }

    /// Ends the thread and waits for it. What is still under way ends as failed. Any thread but the engine's own; again
    /// does nothing.
    package func stop() {
        stopping.store(true, ordering: .sequentiallyConsistent)
        door.ring()
        thread.withLock { thread in
            if let thread { thread.join() } else { end() }
            thread = nil
        }
    }

    /// Grows at least once in `longestSleep` while the thread makes progress. Any thread.
    package var heartbeat: UInt64 { beats.load(ordering: .relaxed) }

    /// Sends the request that `easy` was prepared for, and reports its end to `mailbox`. Any thread; never waits.
    func begin(_ easy: EasyHandle, _ mailbox: HTTPMailbox) {
        easy.lend()
        if !door.leave(.begin(easy, mailbox)) { giveBack(easy, Self.stopped, to: mailbox) }
    }

    /// Ends a transfer; if that has not ended by itself, its end is not reported. Any thread; never waits.
    func cancel(_ easy: EasyHandle) {
        // After the engine's end nothing is under way.
        _ = door.leave(.cancel(easy))
    }

    private var isOwnThread: Bool { ownThread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }

    // MARK: The thread

    private func run() {
        ownThread = pthread_self()
        while !stopping.load(ordering: .sequentiallyConsistent) {
            beats.wrappingAdd(1, ordering: .relaxed)
            for order in door.takeOrders() { perform(order) }
            door.multi.perform()
            reportEnds()
            door.sleep(Self.longestSleep) { stopping.load(ordering: .sequentiallyConsistent) }
        }
        end()
    }

    private func perform(_ order: HTTPEngineDoor.Order) {
        precondition(isOwnThread, "transfers are begun and ended on the HTTP engine's thread")
        switch order {
        case .begin(let easy, let mailbox):
            do {
                try door.multi.add(easy)
                mailboxes[ObjectIdentifier(easy)] = mailbox
            } catch {
                giveBack(easy, .failed(error.description), to: mailbox)
            }
        case .cancel(let easy):
            guard mailboxes.removeValue(forKey: ObjectIdentifier(easy)) != nil else { return }
            door.multi.remove(easy)
            easy.takeBack()
        }
    }

    private func reportEnds() {
        while let (easy, code) = door.multi.nextDone() {
            guard let mailbox = mailboxes.removeValue(forKey: ObjectIdentifier(easy)) else { continue }
            // A transfer that we cut because the answer was long enough is an answer all the same.
            let answered = code == CURLE_OK || easy.answerWasCut
            giveBack(easy, answered ? .answered : .failed(easy.errorText(code)), to: mailbox)
        }
    }

    private func giveBack(_ easy: EasyHandle, _ end: HTTPTransferEnd, to mailbox: HTTPMailbox) {
        easy.takeBack()
        mailbox.put(HTTPCompletion(easy: easy, end: end, at: clock.now()))
    }

    private func end() {
        for case .begin(let easy, let mailbox) in door.takeOrders(closing: true) { giveBack(easy, Self.stopped, to: mailbox) }
        for easy in door.multi.transfers {
            door.multi.remove(easy)
            guard let mailbox = mailboxes.removeValue(forKey: ObjectIdentifier(easy)) else { continue }
            giveBack(easy, Self.stopped, to: mailbox)
        }
    }
}

package struct HTTPEngineError: Error, Sendable, CustomStringConvertible {
    package var description: String
}
