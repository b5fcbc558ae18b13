#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// An object with its own threads or descriptors, which must react when the process forks.
protocol ForkObserver: AnyObject, Sendable {
    /// Locks the object, so that the child receives consistent memory.
    func prepareToFork()
    /// Unlocks the object in the parent.
    func forkedInParent()
    /// Runs in the child, where no other thread of the parent exists: releases what belongs to the parent, and unlocks
    /// the object.
    func forkedInChild()
}

/// The observers of fork(2). A separate registry, because pthread_atfork(3) accepts plain functions only and cannot
/// unregister them.
enum Forks {
    private static let lock = ForkableLock()
    nonisolated(unsafe) private static var observers: [any ForkObserver] = []
    private static let isWatching: Bool = pthread_atfork(forkIsDue, forkedInParent, forkedInChild) == 0

    /// Adds an observer, and keeps it alive until it is removed.
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
