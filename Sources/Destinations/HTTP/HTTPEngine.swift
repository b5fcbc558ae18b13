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

    /// Starts the thread. Once.
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
            thread?.join()
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
enum HTTPTransferEnd {
    case answered
    /// No answer, or not all of it; libcurl's sentence about why.
    case failed(String)
}

/// A worker's place on the engine's thread:
///
///     let place = engine.register()
///     let worker = DeliveryWorker(…, wake: place.wake)
///     place.begin { worker.turn(now: $0) }
package final class HTTPEngineRegistration: @unchecked Sendable {
    private let door: HTTPEngineDoor
    private let woken = Atomic<Bool>(false)
    private let cancelled = Atomic<Bool>(false)
    // After `begin`, on the engine's thread only.
    private var turn: ((Instant) -> Instant?)?
    private var due: Instant?

    fileprivate init(_ door: HTTPEngineDoor) {
        self.door = door
    }

    /// Has `turn` called on the engine's thread: soon after this, after each `wake`, and at the
    /// instant that it returned last (nil: only when woken). A turn must not block. It is let go
    /// of on the engine's thread, after `cancel` or at the engine's end. Once; any thread.
    package func begin(_ turn: sending @escaping (Instant) -> Instant?) {
        precondition(self.turn == nil, "a registration has one turn")
        self.turn = turn
        door.admit(self)
        wake()
    }

    /// Asks for a turn soon. Several calls before that turn are one. Any thread, the engine's own
    /// included; cheap.
    package func wake() {
        woken.store(true, ordering: .sequentiallyConsistent)
        door.ring()
    }

    /// Asks for no more turns. One that is running ends as usual. Any thread.
    package func cancel() {
        cancelled.store(true, ordering: .sequentiallyConsistent)
        wake()
    }

    fileprivate var isWoken: Bool { woken.load(ordering: .sequentiallyConsistent) }
    fileprivate var isCancelled: Bool { cancelled.load(ordering: .sequentiallyConsistent) }

    /// - Returns: when the next turn is due.
    fileprivate func turnIfDue(_ now: Instant) -> Instant? {
        guard !isCancelled, let turn else { return nil }
        let isWoken = woken.exchange(false, ordering: .sequentiallyConsistent)
        if isWoken || due.map({ $0 <= now }) == true { due = turn(now) }
        return due
    }

    fileprivate func release() {
        turn = nil
        due = nil
    }
}

/// What other threads touch of the engine. It lets the engine sleep without missing anything
/// that is told to it meanwhile: whoever has something to tell writes it down first and rings
/// then; the engine says that it sleeps first and looks then. One of the two sees the other.
private final class HTTPEngineDoor: Sendable {
    let multi: MultiHandle
    private let sleeping = Atomic<Bool>(false)
    private let arrivals = Mutex<[HTTPEngineRegistration]>([])

    init(_ multi: MultiHandle) { self.multi = multi }

    func admit(_ registration: HTTPEngineRegistration) {
        arrivals.withLock { $0.append(registration) }
    }

    func takeArrivals() -> [HTTPEngineRegistration] {
        arrivals.withLock { arrivals in
            defer { arrivals = [] }
            return arrivals
        }
    }

    /// A system call only if the engine sleeps and nobody rang yet.
    func ring() {
        if sleeping.exchange(false, ordering: .sequentiallyConsistent) { multi.wakeUp() }
    }

    /// Engine's thread only.
    func sleep(_ duration: Duration, unless hasNews: () -> Bool) {
        sleeping.store(true, ordering: .sequentiallyConsistent)
        if !hasNews() && arrivals.withLock({ $0.isEmpty }) {
            // Rounded up: waking just before a deadline would only mean to sleep again.
            let milliseconds = (duration.inNanoseconds + 999_999) / 1_000_000
            multi.wait(milliseconds: Int32(clamping: milliseconds))
        }
        sleeping.store(false, ordering: .sequentiallyConsistent)
    }
}
