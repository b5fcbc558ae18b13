import Glibc
import Platform

/// A disk that keeps exactly the promises of a real one:
///
/// - A file's bytes are durable after its sync returns, and its name after the sync of its directory returns.
/// - Before that, any part of them may persist, by sectors and in any order (`Inode`, `Directory`).
/// - Any call may fail. A failed write may have written a part. A failed sync does not report what it lost.
/// - The process dies at the next call after `dieAfter` calls. After that no call has an effect. The world checks
///   `isDead` and restarts the process.
///
/// A world has only one thread.
final class SimulatedDisk: Disk, @unchecked Sendable {
    static let directBlock = 4096

    let faults: Faults
    let trace: Trace
    let root = Directory()
    /// Whether changes of names persist in their order.
    let keepsEntryOrder: Bool
    var random: Generator
    /// The maximum of bytes in all files together.
    var capacity = Int.max
    /// The number of calls until the process dies. nil: it does not die.
    var dieAfter: Int?
    private(set) var isDead = false
    /// The number of restarts. Files opened before a restart are closed.
    private(set) var life = 0
    /// The contents of removed files.
    private(set) var graveyard: [(name: String, bytes: [UInt8])] = []
    /// Sectors of removed files of live cursors, and what these sectors held before. The next such file gets the same
    /// blocks.
    private(set) var freedSectors: [(offset: Int, bytes: [UInt8])] = []
    /// Called before a segment is removed.
    var onRemoval: (String, Inode) -> Void = { _, _ in }
    /// The number of calls that change a segment until one fails. nil: chance decides.
    var segmentFailureAfter: Int?
    /// Whether the next sync of the cursors fails.
    var failsNextCursorSync = false
    /// Called after a failed write or sync of a segment.
    var onSegmentFailure: () -> Void = {}
    private var inodes = 0

    init(_ random: Generator, _ faults: Faults, _ trace: Trace) {
        self.random = random
        self.faults = faults
        self.trace = trace
        keepsEntryOrder = self.random.percent(60)
    }

    /// Makes a durable directory before the run.
    func prepare(_ path: String) {
        try? makeDirectory(path, permissions: 0o755)
        var directory = root
        directory.sync()
        for part in path.split(separator: "/") {
            guard case .directory(let inner)? = directory[String(part)] else { return }
            inner.sync()
            directory = inner
        }
    }

    /// Removes a directory with its contents.
    func forgetDirectory(_ path: String) {
        guard let (directory, name) = try? place(path, "rm"), let node = directory[name] else { return }
        directory.remove(name, node)
        directory.sync()
        known = []
    }

    // MARK: - Crashes and restarts

    /// Called before every disk call. Throws if the process is dead.
    func call(_ name: StaticString, _ path: String, _ number: Int = 0) throws(SystemError) {
        if !isDead, let left = dieAfter {
            dieAfter = left - 1
            if left <= 0 { die() }
        }
        trace.note(name, number, path)
        if isDead { throw SystemError("\(name)", path, code: EIO) }
    }

    func checkSegment(_ call: String, _ path: String) throws(SystemError) {
        guard let left = segmentFailureAfter else { return }
        segmentFailureAfter = left > 0 ? left - 1 : nil
        if left == 0 { throw SystemError(call, path, code: EIO) }
    }

    func checkCursors(_ path: String) throws(SystemError) {
        guard failsNextCursorSync, path.hasSuffix("/cursors") || path.hasSuffix("/cursors.new") else { return }
        failsNextCursorSync = false
        throw SystemError("fdatasync", path, code: EIO)
    }

    private func die() {
        isDead = true
        dieAfter = nil
        trace.note("process-dies")
    }

    /// Kills the process. The kernel's page cache remains.
    func kill() {
        die()
        isDead = false
        life += 1
        faults.note(.kill)
    }

    /// Cuts the power. The machine restarts with the data on the disk.
    func cutPower() {
        die()
        faults.note(.powerCut)
        let recycled = random.percent(50) ? graveyard.last?.bytes : nil
        cut(root, recycled)
        known = []
        isDead = false
        life += 1
    }

    private func cut(_ directory: Directory, _ recycled: [UInt8]?) {
        faults.note(.lostEntry, directory.persistSome(&random, inOrder: keepsEntryOrder))
        directory.crash()
        for name in directory.names {
            switch directory[name] {
            case .directory(let inner): cut(inner, recycled)
            case .file(let inode):
                if inode.isDirty {
                    inode.persistSome(&random, recycled: recycled)
                    faults.note(.lostSector)
                    if recycled != nil { faults.note(.recycledSector) }
                }
                inode.crash()
            case nil: break
            }
        }
    }

    /// All files below a directory, by path.
    func files(below path: String = "", _ directory: Directory? = nil) -> [(path: String, inode: Inode)] {
        let directory = directory ?? root
        return directory.names.flatMap { name -> [(path: String, inode: Inode)] in
            switch directory[name] {
            case .file(let inode): [("\(path)/\(name)", inode)]
            case .directory(let inner): files(below: "\(path)/\(name)", inner)
            case nil: []
            }
        }
    }

    func inode(_ path: String) -> Inode? {
        guard let (directory, name) = try? place(path, "stat"), case .file(let inode)? = directory[name] else {
            return nil
        }
        return inode
    }

    // MARK: - Disk

    func open(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
        try open(path, mode, blockSize: 1)
    }

    func openDirect(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
        try open(path, mode, blockSize: Self.directBlock)
    }

    private func open(_ path: String, _ mode: DiskOpenMode, blockSize: Int) throws(SystemError) -> any DiskFile {
        try call("open", path)
        try faults.check(.openError, "open", path)
        let (directory, name) = try place(path, "open")
        if case .file(let inode)? = directory[name] {
            if mode == .createNew { throw SystemError("open", path, code: EEXIST) }
            return SimulatedFile(self, inode, path, blockSize: blockSize, isWritable: mode != .readOnly)
        }
        guard mode == .createNew || mode == .createOrReadWrite else { throw SystemError("open", path, code: ENOENT) }
        inodes += 1
        let inode = Inode(number: inodes)
        directory.create(name, .file(inode))
        return SimulatedFile(self, inode, path, blockSize: blockSize, isWritable: true)
    }

    func list(_ path: String) throws(SystemError) -> [String] {
        try call("list", path)
        try faults.check(.listError, "opendir", path)
        return try directory(path, "opendir").names
    }

    func status(_ path: String) throws(SystemError) -> DiskStatus? {
        try call("status", path)
        try faults.check(.statusError, "stat", path)
        guard let (directory, name) = try? place(path, "stat") else { return nil }
        switch directory[name] {
        case .file(let inode): return DiskStatus(size: inode.current.count, isDirectory: false)
        case .directory: return DiskStatus(size: 0, isDirectory: true)
        case nil: return nil
        }
    }

    func modificationTime(_ path: String) throws(SystemError) -> Int64? { nil }

    func makeDirectory(_ path: String, permissions: UInt32) throws(SystemError) {
        try call("mkdir", path)
        try faults.check(.openError, "mkdir", path)
        var directory = root
        for part in path.split(separator: "/").map(String.init) {
            if case .directory(let inner)? = directory[part] {
                directory = inner
            } else {
                let inner = Directory()
                directory.create(part, .directory(inner))
                directory = inner
            }
        }
    }

    func rename(_ from: String, to: String) throws(SystemError) {
        try call("rename", to)
        try faults.check(.renameError, "rename", from)
        let (directory, name) = try place(from, "rename")
        let (_, other) = try place(to, "rename")
        guard let node = directory[name] else { throw SystemError("rename", from, code: ENOENT) }
        directory.rename(name, to: other, node)
    }

    func remove(_ path: String) throws(SystemError) {
        try call("unlink", path)
        try faults.check(.unlinkError, "unlink", path)
        let (directory, name) = try place(path, "unlink")
        guard case .file(let inode)? = directory[name] else { throw SystemError("unlink", path, code: ENOENT) }
        if World.isSegment(path) {
            onRemoval(path, inode)
            bury(name, inode.durable)
        } else if World.isLiveCursors(path) {
            freedSectors = (freedSectors + inode.history + inode.sectors).suffix(8)
        }
        directory.remove(name, .file(inode))
    }

    func bury(_ name: String, _ bytes: [UInt8]) {
        graveyard.append((name, bytes))
        if graveyard.count > 3 { graveyard.removeFirst() }
    }

    func syncDirectory(_ path: String) throws(SystemError) {
        try call("fsync", path)
        let directory = try directory(path, "fsync")
        try faults.check(.directorySyncError, "fsync", path)
        directory.sync()
    }

    func freeSpace(_ path: String) throws(SystemError) -> Int {
        try call("statvfs", path)
        return capacity == .max ? 1 << 40 : max(0, capacity - used)
    }

    /// The bytes of all files.
    var used: Int { bytes(in: root) }

    private func bytes(in directory: Directory) -> Int {
        directory.entries.values.reduce(0) { sum, node in
            switch node {
            case .file(let inode): sum + inode.current.count
            case .directory(let inner): sum + bytes(in: inner)
            }
        }
    }

    /// The bytes by which a file can still grow.
    func room(for growth: Int) -> Int {
        guard capacity != .max else { return growth }
        return min(growth, max(0, capacity - used))
    }

    // MARK: - Paths

    /// A cache of directories, the most recent first. Cleared when one may have been removed.
    private var known: [(path: String, directory: Directory)] = []

    private func directory(_ path: some StringProtocol, _ call: String) throws(SystemError) -> Directory {
        let length = path.utf8.count
        if let index = known.firstIndex(where: { $0.path.utf8.count == length && $0.path == path }) {
            if index > 0 { known.swapAt(index, 0) }
            return known[0].directory
        }
        var directory = root
        for part in path.split(separator: "/") {
            guard case .directory(let inner)? = directory[String(part)] else {
                throw SystemError(call, String(path), code: ENOENT)
            }
            directory = inner
        }
        known.insert((String(path), directory), at: 0)
        return directory
    }

    private func place(_ path: String, _ call: String) throws(SystemError) -> (Directory, String) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        return (try directory(path[..<slash], call), String(path[path.utf8.index(after: slash)...]))
    }
}
