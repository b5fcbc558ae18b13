#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// A process's exclusive claim to one spool store: a record lock (fcntl(2)) on the store's file `lock`. The kernel
/// releases it when the process ends for any reason, and does not pass it to children.
///
/// A record lock does not exclude its own process, and is lost when that process closes *any* descriptor of the file.
/// Therefore the claims of this process are also recorded in memory, and a claimed lock file is never opened again.
final class SpoolLock {
    private let path: String
    private var file: Descriptor?

    /// - Returns: nil if the store is claimed already, or its lock cannot be opened; errno has the reason.
    init?(store path: String) {
        guard SpoolClaims.shared.claim(path) else {
            errno = EAGAIN
            return nil
        }
        guard let file = Descriptor(opening: path + "/lock", O_RDWR | O_CREAT), Self.take(file),
            Self.isLock(file, of: path)
        else {
            let code = errno
            SpoolClaims.shared.release(path)
            errno = code
            return nil
        }
        self.path = path
        self.file = file
    }

    deinit {
        // First: closing it would take the lock from a later claim of this process.
        file = nil
        SpoolClaims.shared.release(path)
    }

    private static func take(_ file: Descriptor) -> Bool {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        return unsafe fcntl(file.number, F_SETLK, &lock) == 0
    }

    /// Whether this is still the store's file: another process may have removed the store before the lock was taken.
    private static func isLock(_ file: Descriptor, of store: String) -> Bool {
        var (own, current) = (stat(), stat())
        guard unsafe fstat(file.number, &own) == 0, unsafe stat(store + "/lock", &current) == 0 else { return false }
        if own.st_dev == current.st_dev, own.st_ino == current.st_ino { return true }
        errno = ENOENT
        return false
    }

    /// Runs the body while no other process adopts a store in the directory. Does not wait: a process that ends has no
    /// time for it.
    /// - Returns: nil if the directory cannot be locked now, with the reason in errno.
    static func whileAlone<Value>(in directory: String, _ body: () -> Value) -> Value? {
        SpoolClaims.shared.whileAlone {
            guard let file = Descriptor(opening: directory + "/lock", O_RDWR | O_CREAT), take(file) else { return nil }
            return body()
        }
    }
}

/// The stores that this process has claimed.
private final class SpoolClaims: ForkObserver, @unchecked Sendable {
    static let shared: SpoolClaims = {
        let claims = SpoolClaims()
        Forks.add(claims)
        return claims
    }()

    private let lock = ForkableLock()
    /// Held while a directory is scanned, but never by a thread that forks.
    private var alone = ForkableLock()
    private var claimed: Set<String> = []

    func claim(_ path: String) -> Bool { lock.withLock { claimed.insert(path).inserted } }
    func release(_ path: String) { lock.withLock { _ = claimed.remove(path) } }

    func whileAlone<Value>(_ body: () -> Value) -> Value { alone.withLock(body) }

    func prepareToFork() { lock.lock() }
    func forkedInParent() { lock.unlock() }

    func forkedInChild() {
        // A child inherits no record locks. The thread that may have held `alone` does not exist in the child.
        claimed = []
        alone = ForkableLock()
        lock.unlock()
    }
}
