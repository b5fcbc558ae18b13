import CCurl
import Platform
import Synchronization

/// The single thread that runs libcurl's transfers for all HTTP destinations. It does nothing else: the pool threads
/// that run the destinations' workers route events and build, compress and sign requests. So an expensive configuration
/// of one destination cannot delay another's transfers.
///
/// Invariants: a destination hands over a handle that is ready to send, and does not touch it until its completion is
/// in the destination's mailbox. Every transfer is reported exactly once, unless it was withdrawn with `cancel`. The
/// thread blocks only in `MultiHandle.wait`, for at most `longestSleep`, so a heartbeat that does not change for
/// several seconds means that the thread hangs.
package final class HTTPEngine: @unchecked Sendable {
    package struct Limits: Sendable, Equatable {
        /// The most connections open at once, for all destinations. Further transfers wait, and the wait counts towards
        /// their timeout. Keep it above the sum of all destinations' in-flight limits; otherwise a destination that
        /// hangs delays others.
        package var connections = 1024
        /// The most connections open at once to one host and port.
        package var connectionsPerHost = 64
        /// The most connections kept open while idle.
        package var idleConnections = 256

        package init() {}
    }

    package static let longestSleep: Duration = .seconds(1)
    private static let stopped = HTTPTransferEnd.failed("the HTTP engine was stopped")

    private let door: EngineMailbox
    private let clock: any Clock
    private let stopping = Atomic<Bool>(false)
    private let beats = Atomic<UInt64>(0)
    private let thread = Mutex<WorkerThread?>(nil)

    // Used only on the engine's thread.
    private var mailboxes: [ObjectIdentifier: HTTPMailbox] = [:]
    private var ownThread: UInt64?

    package init(limits: Limits = Limits(), clock: any Clock = SystemClock()) throws(HTTPEngineError) {
        do {
            door = EngineMailbox(
                try MultiHandle(
                    connections: limits.connections, perHost: limits.connectionsPerHost, idle: limits.idleConnections))
        } catch {
            throw HTTPEngineError(description: error.description)
        }
        self.clock = clock
    }

    /// Starts the thread. Call once. The engine lives until `stop`.
    package func start() {
        thread.withLock { thread in
            precondition(thread == nil && !stopping.load(ordering: .relaxed), "an HTTP engine is started once")
            thread = WorkerThread(name: "http") { self.run() }
        }
    }

    /// Stops the thread and waits for it to end. Transfers in flight end as failed. Call from any thread but the
    /// engine's own; further calls have no effect.
    package func stop() {
        stopping.store(true, ordering: .sequentiallyConsistent)
        door.ring()
        thread.withLock { thread in
            if let thread { thread.join() } else { end() }
            thread = nil
        }
    }

    /// Grows at least once per `longestSleep` while the thread makes progress. Any thread.
    package var heartbeat: UInt64 { beats.load(ordering: .relaxed) }

    /// Sends the request that `easy` was prepared for, and reports its completion to `mailbox`. Any thread; never
    /// blocks.
    func begin(_ easy: EasyHandle, _ mailbox: HTTPMailbox) {
        easy.lend()
        if !door.leave(.begin(easy, mailbox)) { giveBack(easy, Self.stopped, to: mailbox) }
    }

    /// Aborts a transfer. Its completion is not reported, unless it had already ended. Any thread; never blocks.
    func cancel(_ easy: EasyHandle) {
        // After the engine has stopped, nothing is in flight.
        _ = door.leave(.cancel(easy))
    }

    private var isOwnThread: Bool { ownThread == WorkerThread.current }

    // MARK: The thread

    private func run() {
        ownThread = WorkerThread.current
        while !stopping.load(ordering: .sequentiallyConsistent) {
            beats.wrappingAdd(1, ordering: .relaxed)
            for order in door.takeOrders() { perform(order) }
            door.multi.perform()
            reportEnds()
            door.sleep(Self.longestSleep) { stopping.load(ordering: .sequentiallyConsistent) }
        }
        end()
    }

    private func perform(_ order: EngineMailbox.Order) {
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
            // If we cut the transfer because the response was long enough, it still counts as a response.
            let responded = code == CURLE_OK || easy.responseWasCut
            giveBack(easy, responded ? .responded : .failed(easy.errorText(code)), to: mailbox)
        }
    }

    private func giveBack(_ easy: EasyHandle, _ end: HTTPTransferEnd, to mailbox: HTTPMailbox) {
        easy.takeBack()
        mailbox.put(HTTPCompletion(easy: easy, end: end, at: clock.now()))
    }

    private func end() {
        for case .begin(let easy, let mailbox) in door.takeOrders(closing: true) {
            giveBack(easy, Self.stopped, to: mailbox)
        }
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
