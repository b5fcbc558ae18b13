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

/// Events on disk for as long as the daemon takes none: first what processes before this one have left,
/// then this one's own. Several processes may share the directory; each appends to a store of its own,
/// and adopts those whose process is gone. One thread.
final class Spool {
    /// How many bytes are read and sent at once.
    static let readSize = 64 << 10

    private let directory: String
    private let maximumBytes: Int
    private let segmentBytes: Int
    /// Oldest first. The last is this process' own, once there is one.
    private var stores: [SpoolStore] = []
    private var hasOwn = false

    /// Makes the directory.
    /// - Returns: nil if it cannot be made; errno says why.
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

    /// Whether there is such a directory.
    static func exists(_ directory: String) -> Bool { FileManager.default.fileExists(atPath: directory) }

    var unsent: Int { stores.reduce(0) { $0 + $1.unsent } }
    /// Bytes on disk that are not acknowledged.
    var bytes: Int { stores.reduce(0) { $0 + $1.unacknowledged } }

    /// Takes over what processes have left that have ended. It goes before this one's own events: so nothing may be on its way
    /// to the daemon, since what is acknowledged is what is at the front.
    func adopt() {
        SpoolLock.whileAlone(in: directory) {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            for name in names.sorted() where name.hasSuffix(".store") {
                guard let store = SpoolStore(directory + "/" + name, segmentBytes: segmentBytes) else { continue }
                if store.unacknowledged == 0 { store.removeIfEmpty() } else { stores.insert(store, at: hasOwn ? stores.count - 1 : stores.count) }
            }
        }
    }

    private func own() -> SpoolStore? {
        if hasOwn { return stores.last }
        let own = SpoolLock.whileAlone(in: directory) { () -> SpoolStore? in
            // By time, so that they are adopted in that order.
            let time = String(UInt64(max(0, Date().timeIntervalSince1970 * 1_000_000)), radix: 16)
            let name = String(repeating: "0", count: max(0, 16 - time.count)) + time
            let path = "\(directory)/\(name)-\(getpid())-\(String(UInt32.random(in: 0 ... .max), radix: 16)).store"
            return SpoolStore(path, segmentBytes: segmentBytes)
        }
        guard let own, let own else { return nil }
        stores.append(own)
        hasOwn = true
        return own
    }

    /// What became of an attempt to append.
    enum Appending: Equatable {
        case done
        /// The bound is reached.
        case full
        /// The disk does not take it: what it said.
        case failed(code: Int32)
    }

    /// - Parameter wasSent: they are on their way to the daemon already.
    func append(_ lines: [UInt8], wasSent: Bool) -> Appending {
        guard bytes + lines.count <= maximumBytes else { return .full }
        guard let store = own(), store.append(lines) else { return .failed(code: errno) }
        if wasSent { store.skipSending(lines.count) }
        return .done
    }

    /// The next unsent lines.
    /// - Returns: nil if they cannot be read.
    func next() -> LineBlock? { stores.first { $0.unsent > 0 }?.next(Self.readSize) }

    /// - Returns: how many bytes were given up.
    func skipUnreadable() -> Int { stores.first { $0.unsent > 0 }?.skipUnreadable() ?? 0 }

    func rewind() { for store in stores { store.rewind() } }

    /// Settles bytes at the front, as they were sent: of one store, or of several.
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

    /// Lets go of everything; what is not acknowledged is for the next process.
    func close() {
        for store in stores { store.removeIfEmpty() }
        stores = []
        hasOwn = false
    }
}
