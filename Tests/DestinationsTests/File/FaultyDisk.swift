import Platform
import Synchronization

/// The error of every operation after the simulated end of the process.
struct ProcessEnded: Error {}

/// The real disk with two kinds of faults: from the n-th operation on, everything fails (kill -9 or a power cut), or
/// writes find the disk full. It records syncs but performs none: the only power cut is the one that it simulates.
final class FaultyDisk: Disk {
    struct State {
        var operations = 0
        var endsAt = Int.max
        /// The bytes that writes may still take.
        var space = Int.max
        /// The directory that `space` limits. The ledger may be on another filesystem.
        var fullBelow = "/"
        var failsSync = false
        var keepsAttributes = true
        /// Names that changed since the last sync of their directory, oldest first.
        var unsynced: [NameChange] = []
        /// File lengths at the last sync. A sync may run on another thread while the file is renamed.
        var synced: [FileIdentity: Int] = [:]
        /// Every name that a file has had.
        var paths: Set<String> = []
    }
    enum NameChange {
        case made(String)
        case renamed(from: String, to: String)
    }

    let state = Mutex(State())
    private let disk = SystemDisk()

    /// Counts one operation and throws if the process has ended.
    func step() throws(SystemError) {
        let ended = state.withLock {
            $0.operations += 1
            return $0.operations > $0.endsAt
        }
        if ended { throw SystemError("the process has ended", code: 5) }
    }

    var operations: Int { state.withLock { $0.operations } }

    /// Removes what a power cut may lose: names and bytes that were not synced.
    func cutPower() throws {
        let (changes, synced, paths) = state.withLock { ($0.unsynced, $0.synced, $0.paths) }
        for change in changes.reversed() {
            switch change {
            case .made(let path):
                if try disk.status(path) != nil { try disk.remove(path) }
            case .renamed(let from, let to):
                try disk.rename(to, to: from)
            }
        }
        for path in paths where try disk.status(path) != nil {
            let file = try disk.open(path, .readWrite)
            guard let identity = try file.identity(), let length = synced[identity] else { continue }
            if try file.size() > length { try file.truncate(to: length) }
        }
    }

    func open(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
        try step()
        let isNew = try disk.status(path) == nil
        let file = try disk.open(path, mode)
        let (size, identity) = (try file.size(), try file.identity())
        state.withLock {
            $0.paths.insert(path)
            if isNew { $0.unsynced.append(.made(path)) }
            // A new file may get the identity of a removed one.
            if let identity, isNew || $0.synced[identity] == nil { $0.synced[identity] = size }
        }
        return FaultyFile(disk: self, file)
    }
    func list(_ directory: String) throws(SystemError) -> [String] { try disk.list(directory) }
    func status(_ path: String) throws(SystemError) -> DiskStatus? { try disk.status(path) }
    func modificationTime(_ path: String) throws(SystemError) -> Int64? { try disk.modificationTime(path) }
    func makeDirectory(_ path: String, permissions: UInt32) throws(SystemError) {
        try step()
        try disk.makeDirectory(path, permissions: permissions)
    }
    func rename(_ from: String, to: String) throws(SystemError) {
        try step()
        try disk.rename(from, to: to)
        state.withLock {
            $0.unsynced.append(.renamed(from: from, to: to))
            $0.paths.insert(to)
        }
    }
    func remove(_ path: String) throws(SystemError) {
        try step()
        try disk.remove(path)
    }
    func syncDirectory(_ path: String) throws(SystemError) {
        try step()
        func parent(_ path: String) -> String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }
        state.withLock {
            $0.unsynced.removeAll { change in
                switch change {
                case .made(let made): parent(made) == path
                case .renamed(_, let to): parent(to) == path
                }
            }
        }
    }
    func freeSpace(_ path: String) throws(SystemError) -> Int { try disk.freeSpace(path) }
}

private final class FaultyFile: DiskFile {
    let disk: FaultyDisk
    let file: any DiskFile
    init(disk: FaultyDisk, _ file: any DiskFile) {
        self.disk = disk
        self.file = file
    }
    var path: String { file.path }
    func size() throws(SystemError) -> Int { try file.size() }
    func identity() throws(SystemError) -> FileIdentity? { try file.identity() }
    func read(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) throws(SystemError) -> Int {
        try file.read(count, at: offset, appendingTo: &bytes)
    }
    func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError) {
        do {
            try disk.step()
        } catch {
            // The process ended in the middle of the write.
            if disk.operations == disk.state.withLock({ $0.endsAt }) + 1 {
                try file.write(bytes.extracting(first: bytes.count / 2), at: offset)
            }
            throw error
        }
        let space = disk.state.withLock {
            guard path.hasPrefix($0.fullBelow) else { return bytes.count }
            let space = min($0.space, bytes.count)
            if $0.space != .max { $0.space -= space }
            return space
        }
        try file.write(bytes.extracting(first: space), at: offset)
        if space < bytes.count { throw SystemError("pwrite", path, code: 28) }
    }
    func sync() throws(SystemError) {
        try disk.step()
        if disk.state.withLock({ $0.failsSync }) { throw SystemError("fdatasync", path, code: 5) }
        guard let identity = try file.identity() else { return }
        let size = try file.size()
        // Another thread may have synced a longer file meanwhile.
        disk.state.withLock { $0.synced[identity] = max($0.synced[identity] ?? 0, size) }
    }
    func truncate(to size: Int) throws(SystemError) {
        try disk.step()
        try file.truncate(to: size)
        guard let identity = try file.identity() else { return }
        disk.state.withLock { $0.synced[identity] = min($0.synced[identity] ?? 0, size) }
    }
    func attribute(_ name: String) -> [UInt8]? { file.attribute(name) }
    func setAttribute(_ name: String, to value: Span<UInt8>) throws(SystemError) -> Bool {
        guard disk.state.withLock({ $0.keepsAttributes }) else { return false }
        return try file.setAttribute(name, to: value)
    }
    func tryLock() throws(SystemError) -> Bool { try file.tryLock() }
}
