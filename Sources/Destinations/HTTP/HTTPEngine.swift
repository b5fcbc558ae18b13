import CCurl
import Glibc
import Platform
import Synchronization

/// The one thread for all HTTP destinations: it runs libcurl's transfers, and between them the
/// turns of the workers that feed them.
///
/// A worker that would block on its own thread is here a state machine: its turn does what can
/// be done now and says when it wants the next one. So hundreds of destinations cost one thread,
/// and a destination and its worker need no lock between them.
///
/// Invariants: turns and completions run on the engine's thread only, one at a time, never
/// within one of libcurl's callbacks. Every transfer begun is completed exactly once, or taken
/// back with `cancel`. It never blocks but in `MultiHandle.wait`, at most `longestSleep`; so a
/// heartbeat that stands still for several seconds means that the thread hangs.
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

    private let door: HTTPEngineDoor
    private let clock: any Clock
    private let stopping = Atomic<Bool>(false)
    private let beats = Atomic<UInt64>(0)
    private let thread = Mutex<WorkerThread?>(nil)

    // On the engine's thread only.
    private var turns: [HTTPEngineRegistration] = []
    private var completions: [ObjectIdentifier: (HTTPTransferEnd) -> Void] = [:]
    private var ownThread: pthread_t?
    private var ended = false

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

    /// Ends the thread and waits for it. Turns are called no more; what is still under way ends
    /// as failed. Any thread but the engine's own; again does nothing.
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

    /// A place for a worker's turns; `begin` starts them. In two steps, so that a worker may be
    /// made that knows whom to `wake`. Any thread.
    package func register() -> HTTPEngineRegistration {
        HTTPEngineRegistration(door)
    }

    /// Both steps, for a turn that needs nothing of the registration.
    package func register(_ turn: sending @escaping (Instant) -> Instant?) -> HTTPEngineRegistration {
        let registration = register()
        registration.begin(turn)
        return registration
    }

    /// Sends the request that `easy` was prepared for, and calls `completion` when it has ended;
    /// never before this returns. Engine's thread only.
    func begin(_ easy: EasyHandle, _ completion: @escaping (HTTPTransferEnd) -> Void) throws(CurlError) {
        precondition(isOwnThread, "HTTP transfers are begun on the HTTP engine's thread")
        if ended { throw CurlError(description: "the HTTP engine has been stopped") }
        try door.multi.add(easy)
        completions[ObjectIdentifier(easy)] = completion
    }

    /// Ends a transfer whose completion is then not called. Engine's thread only, or after `stop`.
    func cancel(_ easy: EasyHandle) {
        guard completions.removeValue(forKey: ObjectIdentifier(easy)) != nil else { return }
        door.multi.remove(easy)
    }

    private var isOwnThread: Bool { ownThread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }

    // MARK: The thread

    private func run() {
        ownThread = pthread_self()
        while !stopping.load(ordering: .sequentiallyConsistent) {
            beats.wrappingAdd(1, ordering: .relaxed)
            let next = takeTurns()
            door.multi.perform()
            completeTransfers()
            sleep(until: next)
        }
        end()
    }

    /// - Returns: the earliest instant that a turn asked for.
    private func takeTurns() -> Instant? {
        turns += door.takeArrivals()
        var next: Instant?
        var cancelled = false
        for registration in turns {
            let due = registration.turnIfDue(clock.now())
            cancelled = cancelled || registration.isCancelled
            if let due { next = min(next ?? due, due) }
        }
        if cancelled {
            turns.removeAll { registration in
                guard registration.isCancelled else { return false }
                registration.release()
                return true
            }
        }
        return next
    }

    private func completeTransfers() {
        while let (easy, code) = door.multi.nextDone() {
            guard let completion = completions.removeValue(forKey: ObjectIdentifier(easy)) else { continue }
            // A transfer that we cut because the answer was long enough is an answer all the same.
            let answered = code == CURLE_OK || easy.answerWasCut
            completion(answered ? .answered : .failed(easy.errorText(code)))
        }
    }

    private func sleep(until deadline: Instant?) {
        var wait = Self.longestSleep
        if let deadline { wait = min(wait, max(.zero, deadline - clock.now())) }
        door.sleep(wait) { [self] in
            stopping.load(ordering: .sequentiallyConsistent) || turns.contains(where: \.isWoken)
        }
    }

    private func end() {
        ended = true
        for easy in door.multi.transfers {
            door.multi.remove(easy)
            completions.removeValue(forKey: ObjectIdentifier(easy))?(.failed("the HTTP engine was stopped"))
        }
        completions = [:]
        for registration in turns + door.takeArrivals() { registration.release() }
        turns = []
    }
}

package struct HTTPEngineError: Error, Sendable, CustomStringConvertible {
    package var description: String
}

/// How a transfer ended. What the answer was is in its EasyHandle.
enum HTTPTransferEnd: Equatable {
    case answered
    /// No answer, or not all of it; libcurl's sentence about why.
    case failed(String)
}
