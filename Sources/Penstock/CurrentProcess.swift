import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// The id of this process, cached to avoid a system call for each event. A forked child updates it once.
enum CurrentProcess {
    private static let number = Atomic<Int32>(getpid())

    /// Whether forks are observed. Registering the handler fails only when memory is exhausted.
    private static let isWatched: Bool = {
        // Initialize `number` before the first fork, not during one.
        _ = number.load(ordering: .relaxed)
        return pthread_atfork(nil, nil) { CurrentProcess.number.store(getpid(), ordering: .relaxed) } == 0
    }()

    static var id: Int32 { isWatched ? number.load(ordering: .relaxed) : getpid() }
}
