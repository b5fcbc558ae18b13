#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What has threads or descriptors of its own, and has to know that the process is copied.
protocol ForkObserver: AnyObject, Sendable {
    /// Takes its lock, so that the child gets its memory in order.
    func prepareToFork()
    /// Gives it back.
    func forkedInParent()
    /// In the child, where none of the parent's other threads is: lets go of what is the parent's, and
    /// gives the lock back.
    func forkedInChild()
}

/// Who is told of fork(2): pthread_atfork(3) takes functions, and never forgets one.
enum Forks {
    private static let lock = ForkableLock()
    nonisolated(unsafe) private static var observers: [any ForkObserver] = []
    private static let isWatching: Bool = pthread_atfork(forkIsDue, forkedInParent, forkedInChild) == 0

    /// Keeps the observer until it is removed.
    static func add(_ observer: any ForkObserver) {
        _ = isWatching
        lock.withLock { unsafe observers.append(observer) }
    }

    static func remove(_ observer: any ForkObserver) {
        lock.withLock { unsafe observers.removeAll { $0 === observer } }
    }

    fileprivate static func prepare() {
        lock.lock()
        for observer in unsafe observers { observer.prepareToFork() }
    }

    fileprivate static func finish(inChild: Bool) {
        for observer in unsafe observers { inChild ? observer.forkedInChild() : observer.forkedInParent() }
        lock.unlock()
    }
}

private func forkIsDue() { Forks.prepare() }
private func forkedInParent() { Forks.finish(inChild: false) }
private func forkedInChild() { Forks.finish(inChild: true) }
