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

/// Events on disk, for as long as the receiver does not take them: first those left by earlier processes, then this
/// process's own. Several processes may share the directory. Each appends to its own store, and adopts the stores
/// of processes that have ended. Use it from one thread.
final class Spool {
    private let directory: String
    private let maximumBytes: Int
    private let segmentBytes: Int
    /// The stores, oldest first. The last one is this process's own, if `hasOwn`.
    private var stores: [SpoolStore] = []
    private var hasOwn = false

    /// Creates the directory.
    /// - Returns: nil if it cannot be created, with the reason in errno.
    init?(directory: String, maximumBytes: Int, segmentBytes: Int) {
        self.directory = directory
        self.maximumBytes = maximumBytes
        self.segmentBytes = min(segmentBytes, max(maximumBytes, 1))
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            return nil
        }
    }

    /// Returns whether the directory exists.
    static func exists(_ directory: String) -> Bool { FileManager.default.fileExists(atPath: directory) }

    var unsent: Int { stores.reduce(0) { $0 + $1.unsent } }
    /// The number of bytes on disk that are not acknowledged.
    var bytes: Int { stores.reduce(0) { $0 + $1.unacknowledged } }

    /// Takes over the stores of processes that have ended, and puts them before this process's own. No batch may be in
    /// flight: an acknowledgement settles the bytes at the front.
    ///
    /// - Parameter purging: Whether to delete their events instead.
    /// - Returns: Whether it has looked. If not, another process is doing so.
    /// - Throws: If a store cannot be read now. It stays as it is.
    @discardableResult
    func adopt(purging: Bool = false) throws(SpoolUnavailable) -> Bool {
        let problem = SpoolLock.whileAlone(in: directory) { () -> SpoolUnavailable? in
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
                return SpoolUnavailable(code: errno)
            }
            var problem: SpoolUnavailable?
            for name in names.sorted() where name.hasSuffix(".store") {
                do throws(SpoolUnavailable) {
                    guard let store = try SpoolStore(directory + "/" + name, segmentBytes: segmentBytes) else {
                        continue
                    }
                    if purging { store.acknowledge(bytes: store.unacknowledged) }
                    if store.unacknowledged == 0 {
                        store.removeIfEmpty()
                    } else {
                        stores.insert(store, at: hasOwn ? stores.count - 1 : stores.count)
                    }
                } catch {
                    problem = error
                }
            }
            return problem
        }
        if let problem = problem ?? SpoolUnavailable(errno: errno) { throw problem }
        return problem != nil
    }

    /// How often to try to create a store. Another process may take a new one for that of a process that has ended, and
    /// remove it, until it is locked.
    private static let attempts = 10

    /// Not `whileAlone`: a process that ends while another one holds the directory would lose its events.
    private func own() -> SpoolStore? {
        if hasOwn { return stores.last }
        for _ in 0..<Self.attempts {
            // Names begin with the time, so that stores are adopted in the order of their creation.
            let time = String(UInt64(max(0, Date().timeIntervalSince1970 * 1_000_000)), radix: 16)
            let name = String(repeating: "0", count: max(0, 16 - time.count)) + time
            let path = "\(directory)/\(name)-\(getpid())-\(String(UInt32.random(in: 0 ... .max), radix: 16)).store"
            do throws(SpoolUnavailable) {
                if let own = try SpoolStore(path, segmentBytes: segmentBytes) {
                    stores.append(own)
                    hasOwn = true
                    return own
                }
            } catch {
                errno = error.code
                return nil
            }
        }
        return nil
    }

    /// The result of an attempt to append.
    enum Appending: Equatable {
        case done
        /// The limit `spoolBytes` is reached.
        case full
        /// The write failed with this errno.
        case failed(code: Int32)
    }

    /// - Parameter wasSent: Whether the lines are already in flight.
    func append(_ lines: [UInt8], wasSent: Bool) -> Appending {
        guard bytes + lines.count <= maximumBytes else { return .full }
        guard let store = own(), store.append(lines) else { return .failed(code: errno) }
        if wasSent { store.skipSending(lines.count) }
        return .done
    }

    /// Returns the next unsent lines, about the given number of bytes.
    /// - Returns: nil if they cannot be read.
    func next(_ bytes: Int) throws(SpoolUnavailable) -> LineBlock? {
        guard let store = stores.first(where: { $0.unsent > 0 }) else { return nil }
        return try store.next(bytes)
    }

    /// Skips unsent lines that cannot be read.
    /// - Returns: How many bytes were skipped.
    func skipUnreadable() -> Int { stores.first { $0.unsent > 0 }?.skipUnreadable() ?? 0 }

    func rewind() { for store in stores { store.rewind() } }

    /// Acknowledges bytes at the front, in the order in which they were sent. They may belong to several stores.
    func acknowledge(bytes: Int) {
        var left = bytes
        while left > 0, let store = stores.first(where: { $0.unacknowledged > 0 }) {
            let count = min(left, store.unacknowledged)
            store.acknowledge(bytes: count)
            left -= count
            removeDone()
        }
    }

    func acknowledge(lines: Int) {
        stores.first { $0.unacknowledged > 0 }?.acknowledge(lines: lines)
        removeDone()
    }

    private func removeDone() {
        while let first = stores.first, first.unacknowledged == 0, !(hasOwn && stores.count == 1) {
            first.removeIfEmpty()
            stores.removeFirst()
        }
    }

    /// Deletes the events of the stores that this process holds.
    func purge() {
        for store in stores {
            store.acknowledge(bytes: store.unacknowledged)
            store.removeIfEmpty()
        }
        stores = []
        hasOwn = false
    }

    /// Releases all stores. Events that are not acknowledged stay on disk for the next process.
    func close() {
        for store in stores { store.removeIfEmpty() }
        stores = []
        hasOwn = false
    }
}
