import Platform
import Synchronization

/// What other threads touch of the engine. It lets the engine sleep without missing anything
/// that is told to it meanwhile: whoever has something to tell writes it down first and rings
/// then; the engine says that it sleeps first and looks then. One of the two sees the other.
final class HTTPEngineDoor: Sendable {
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
