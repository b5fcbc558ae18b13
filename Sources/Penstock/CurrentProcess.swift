#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
import Synchronization

/// Which process this is, without asking the kernel for every event: after a fork the child asks once.
enum CurrentProcess {
    private static let number = Atomic<Int32>(getpid())

    /// Whether forks are noticed; nothing that a program does can make this fail but want of memory.
    private static let isWatched: Bool = {
        // Before the first fork, not within it.
        _ = number.load(ordering: .relaxed)
        return pthread_atfork(nil, nil) { CurrentProcess.number.store(getpid(), ordering: .relaxed) } == 0
    }()

    static var id: Int32 { isWatched ? number.load(ordering: .relaxed) : getpid() }
}
