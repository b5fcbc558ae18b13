#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A process' claim to one spool store: a record lock (fcntl(2)) on the file `lock` in it. The kernel
/// takes it back when the process ends, however it ends, and gives it to no child.
///
/// Such a lock does not keep out its own process, and is lost when that process closes *any* descriptor
/// of the file. So what this process holds is noted here, too, and never opened again.
final class SpoolLock {
    private let path: String
    private let file: Descriptor

    /// - Returns: nil if somebody else holds the store, or it cannot be opened.
    init?(store path: String) {
        guard SpoolClaims.shared.claim(path) else { return nil }
        guard let file = Descriptor(opening: path + "/lock", O_RDWR | O_CREAT), Self.take(file) else {
            SpoolClaims.shared.release(path)
            return nil
        }
        self.path = path
        self.file = file
    }

    deinit { SpoolClaims.shared.release(path) }

    private static func take(_ file: Descriptor) -> Bool {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        return unsafe fcntl(file.number, F_SETLK, &lock) == 0
    }

    /// How often, and how long apart, a directory is asked for that another process looks through.
    private static let attempts = 200
    private static let pause: UInt32 = 5000

    /// Runs the body while no other process creates or adopts a store in the directory.
    /// - Returns: nil if that did not come about within a second; errno says why.
    static func whileAlone<Value>(in directory: String, _ body: () -> Value) -> Value? {
        SpoolClaims.shared.whileAlone {
            guard let file = Descriptor(opening: directory + "/lock", O_RDWR | O_CREAT) else { return nil }
            for _ in 0..<attempts {
                if take(file) { return body() }
                usleep(pause)
            }
            return nil
        }
    }
}

/// The stores that this process holds.
private final class SpoolClaims: ForkObserver, @unchecked Sendable {
    static let shared: SpoolClaims = {
        let claims = SpoolClaims()
        Forks.add(claims)
        return claims
    }()

    private let lock = ForkableLock()
    /// Held for as long as a directory is looked through; never by a thread that forks.
    private var alone = ForkableLock()
    private var claimed: Set<String> = []

    func claim(_ path: String) -> Bool { lock.withLock { claimed.insert(path).inserted } }
    func release(_ path: String) { lock.withLock { _ = claimed.remove(path) } }

    func whileAlone<Value>(_ body: () -> Value) -> Value { alone.withLock(body) }

    func prepareToFork() { lock.lock() }
    func forkedInParent() { lock.unlock() }

    func forkedInChild() {
        // Record locks are not inherited. Who held `alone` is not in this process.
        claimed = []
        alone = ForkableLock()
        lock.unlock()
    }
}
