import Glibc
import Platform
import Synchronization

/// A disk in memory that loses unsynced writes, and fails the calls that a test chooses.
final class MemoryDisk: Disk {
    fileprivate final class Inode: Sendable {
        struct Contents {
            var current: [UInt8] = []
            var durable: [UInt8] = []
            /// After a failed sync, later syncs succeed but do not persist the lost writes.
            var isLost = false
        }
        let contents = Mutex(Contents())
        let isLocked = Atomic(false)
    }

    private struct State {
        var names: [String: Inode] = [:]
        var durableNames: [String: Inode] = [:]
        var removed: [WeakInode] = []
        var directories: Set<String> = []
        var capacity = Int.max
        var failures: [(call: String, path: String, code: Int32, times: Int)] = []
        var syncs = 0
        var syncTime = Duration.zero
        var bytesRead = 0
        var cacheIsStale = false
        var cachedPart: (whole: Int, end: Int)?
    }

    private struct WeakInode {
        weak var inode: Inode?
    }

    private let state = Mutex(State())

    /// Fails the next `times` calls whose path contains the text.
    func fail(_ call: String, _ path: String, code: Int32, times: Int = 1) {
        state.withLock { $0.failures.append((call, path, code, times)) }
    }

    func heal() { state.withLock { $0.failures = [] } }

    /// The maximum of bytes in all files together.
    var capacity: Int {
        get { state.withLock { $0.capacity } }
        set { state.withLock { $0.capacity = newValue } }
    }

    /// Whether the page cache is stale: it holds zeros where the disk holds data.
    var cacheIsStale: Bool {
        get { state.withLock { $0.cacheIsStale } }
        set { state.withLock { $0.cacheIsStale = newValue } }
    }

    /// Of each file, the page cache holds the bytes before `end`, those from `whole` on as zeros; nil: as
    /// `cacheIsStale` says.
    var cachedPart: (whole: Int, end: Int)? {
        get { state.withLock { $0.cachedPart } }
        set { state.withLock { $0.cachedPart = newValue } }
    }

    var syncs: Int { state.withLock { $0.syncs } }

    /// How long a sync takes.
    var syncTime: Duration {
        get { state.withLock { $0.syncTime } }
        set { state.withLock { $0.syncTime = newValue } }
    }

    /// A copy of the disk as a power cut would leave it: only synced files and directory entries. This disk
    /// does not change.
    func survivor() -> MemoryDisk {
        let disk = MemoryDisk()
        state.withLock { state in
            for (name, inode) in state.durableNames {
                let copy = Inode()
                let durable = inode.contents.withLock { $0.durable }
                copy.contents.withLock { $0 = Inode.Contents(current: durable, durable: durable) }
                disk.state.withLock { other in
                    other.names[name] = copy
                    other.durableNames[name] = copy
                }
            }
            let directories = state.directories
            disk.state.withLock { $0.directories = directories }
        }
        return disk
    }

    func contents(_ path: String) -> [UInt8]? {
        state.withLock { $0.names[path] }?.contents.withLock { $0.current }
    }

    func change(_ path: String, _ body: (inout [UInt8]) -> Void) {
        state.withLock { $0.names[path] }?.contents.withLock { contents in
            body(&contents.current)
            contents.durable = contents.current
        }
    }

    func check(_ call: String, _ path: String) throws(SystemError) {
        let code = state.withLock { state -> Int32? in
            guard
                let index = state.failures.firstIndex(where: {
                    $0.call == call && path.contains($0.path) && $0.times > 0
                })
            else { return nil }
            state.failures[index].times -= 1
            return state.failures[index].code
        }
        if let code { throw SystemError(call, path, code: code) }
    }

    fileprivate func noteRead(_ count: Int) { state.withLock { $0.bytesRead += count } }

    /// The bytes that were read since the last call.
    func takeBytesRead() -> Int { state.withLock { exchange(&$0.bytesRead, with: 0) } }

    fileprivate func noteSync() { state.withLock { $0.syncs += 1 } }

    fileprivate func grow(by bytes: Int, _ path: String) throws(SystemError) {
        guard bytes > 0 else { return }
        if try freeSpace(path) < bytes { throw SystemError("pwrite", path, code: ENOSPC) }
    }

    // MARK: - Disk

    func open(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
        try check("open", path)
        let (inode, code) = state.withLock { state -> (Inode?, Int32) in
            if let inode = state.names[path] {
                return mode == .createNew ? (nil, EEXIST) : (inode, 0)
            }
            guard mode == .createNew || mode == .createOrReadWrite else { return (nil, ENOENT) }
            let inode = Inode()
            state.names[path] = inode
            return (inode, 0)
        }
        guard let inode else { throw SystemError("open", path, code: code) }
        return MemoryFile(self, path, inode, blockSize: 1)
    }

    /// A file that accepts only whole blocks, as direct I/O does.
    func openDirect(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
        _ = try open(path, mode)
        guard let inode = state.withLock({ $0.names[path] }) else { throw SystemError("open", path, code: ENOENT) }
        return MemoryFile(self, path, inode, blockSize: AlignedMemory.alignment)
    }

    private static func parent(_ path: String) -> Substring { path[..<(path.lastIndex(of: "/") ?? path.startIndex)] }

    func list(_ directory: String) throws(SystemError) -> [String] {
        state.withLock { state in
            state.names.keys.filter { Self.parent($0) == directory }.map { String($0.dropFirst(directory.count + 1)) }
        }
    }

    func status(_ path: String) throws(SystemError) -> DiskStatus? {
        let (inode, isDirectory) = state.withLock { ($0.names[path], $0.directories.contains(path)) }
        if isDirectory { return DiskStatus(size: 0, isDirectory: true) }
        return inode.map {
            DiskStatus(size: $0.contents.withLock { $0.current.count }, isDirectory: false)
        }
    }

    func modificationTime(_ path: String) throws(SystemError) -> Int64? { nil }

    func makeDirectory(_ path: String, permissions: UInt32) throws(SystemError) {
        _ = state.withLock { $0.directories.insert(path) }
    }

    func rename(_ from: String, to: String) throws(SystemError) {
        try check("rename", from)
        let found = state.withLock { state in
            guard let inode = state.names.removeValue(forKey: from) else { return false }
            state.names[to] = inode
            return true
        }
        if !found { throw SystemError("rename", from, code: ENOENT) }
    }

    func remove(_ path: String) throws(SystemError) {
        try check("unlink", path)
        state.withLock { state in
            if let inode = state.names.removeValue(forKey: path) { state.removed.append(WeakInode(inode: inode)) }
        }
    }

    func syncDirectory(_ path: String) throws(SystemError) {
        try check("fsync", path)
        state.withLock { state in
            state.durableNames = state.durableNames.filter { Self.parent($0.key) != path }
            for (name, inode) in state.names where Self.parent(name) == path { state.durableNames[name] = inode }
        }
    }

    func freeSpace(_ path: String) throws(SystemError) -> Int {
        state.withLock { state in
            // An open file keeps its space after it is unlinked.
            state.removed.removeAll { $0.inode == nil }
            let inodes = Array(state.names.values) + state.removed.compactMap(\.inode)
            return state.capacity - inodes.reduce(0) { $0 + $1.contents.withLock { $0.current.count } }
        }
    }
}

private final class MemoryFile: DiskFile {
    let path: String
    private let disk: MemoryDisk
    private let inode: MemoryDisk.Inode
    private let holdsLock = Atomic(false)

    let blockSize: Int

    init(_ disk: MemoryDisk, _ path: String, _ inode: MemoryDisk.Inode, blockSize: Int) {
        self.blockSize = blockSize
        self.disk = disk
        self.path = path
        self.inode = inode
    }

    deinit { if holdsLock.load(ordering: .relaxed) { inode.isLocked.store(false, ordering: .relaxed) } }

    func size() throws(SystemError) -> Int { inode.contents.withLock { $0.current.count } }

    func readCached(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) -> Int {
        if let part = disk.cachedPart {
            let end = min(offset + count, part.end)
            guard offset < end else { return 0 }
            let contents = inode.contents.withLock {
                Array($0.current[min(offset, $0.current.count)...].prefix(end - offset))
            }
            bytes += contents.enumerated().map { offset + $0.offset < part.whole ? $0.element : 0 }
            return contents.count
        }
        guard disk.cacheIsStale else { return 0 }
        let size = inode.contents.withLock { $0.current.count }
        let got = max(0, min(count, size - offset))
        bytes += [UInt8](repeating: 0, count: got)
        return got
    }

    func read(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) throws(SystemError) -> Int {
        try disk.check("pread", path)
        let piece = inode.contents.withLock { Array($0.current.dropFirst(offset).prefix(count)) }
        disk.noteRead(piece.count)
        bytes += piece
        return piece.count
    }

    func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError) {
        try disk.check("pwrite", path)
        let isAligned = unsafe bytes.withUnsafeBufferPointer {
            [offset, $0.count, Int(bitPattern: $0.baseAddress)].allSatisfy { $0 % blockSize == 0 }
        }
        if !isAligned { throw SystemError("pwrite", path, code: EINVAL) }
        try disk.grow(by: offset + bytes.count - (try size()), path)
        inode.contents.withLock { contents in
            let missing = offset + bytes.count - contents.current.count
            if missing > 0 { contents.current += [UInt8](repeating: 0, count: missing) }
            unsafe bytes.withUnsafeBufferPointer {
                unsafe contents.current.replaceSubrange(offset..<offset + $0.count, with: $0)
            }
        }
    }

    func sync() throws(SystemError) {
        disk.noteSync()
        let time = disk.syncTime
        if time > .zero { pause(for: time) }
        do throws(SystemError) { try disk.check("fdatasync", path) } catch {
            inode.contents.withLock { $0.isLost = true }
            throw error
        }
        inode.contents.withLock { if !$0.isLost { $0.durable = $0.current } }
    }

    func truncate(to size: Int) throws(SystemError) {
        inode.contents.withLock { contents in
            contents.current =
                contents.current.prefix(size) + [UInt8](repeating: 0, count: max(0, size - contents.current.count))
            // Truncation to zero discards the lost pages.
            if size == 0 { contents.isLost = false }
        }
    }

    func tryLock() throws(SystemError) -> Bool {
        guard inode.isLocked.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else {
            return false
        }
        holdsLock.store(true, ordering: .relaxed)
        return true
    }
}
