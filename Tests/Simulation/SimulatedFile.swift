import Events
import Glibc
import Platform

/// An open file of a simulated disk. It also checks two of the journal's invariants: a failed file is never
/// written or synced again, and durable bytes of a segment never change.
final class SimulatedFile: DiskFile, @unchecked Sendable {
    let path: String
    let blockSize: Int
    private let disk: SimulatedDisk
    private let inode: Inode
    private let isWritable: Bool
    private let isSegment: Bool
    private let life: Int
    private var hasFailed = false

    init(_ disk: SimulatedDisk, _ inode: Inode, _ path: String, blockSize: Int, isWritable: Bool) {
        self.disk = disk
        self.inode = inode
        self.path = path
        self.blockSize = blockSize
        self.isWritable = isWritable
        isSegment = World.isSegment(path)
        life = disk.life
    }

    private func call(_ name: StaticString, _ number: Int = 0) throws(SystemError) {
        if life != disk.life { throw SystemError("\(name)", path, code: EBADF) }
        try disk.call(name, path, number)
    }

    func size() throws(SystemError) -> Int {
        try call("size")
        return inode.current.count
    }

    func read(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) throws(SystemError) -> Int {
        try call("read", offset)
        try disk.faults.check(.readError, "pread", path)
        let start = min(offset, inode.current.count)
        let end = min(offset + count, inode.current.count)
        bytes.append(contentsOf: inode.current[start..<end])
        return end - start
    }

    func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError) {
        try call("write", offset)
        try beginChange()
        var piece: [UInt8] = []
        piece.append(contentsOf: bytes)
        disk.trace.mix(piece.count)
        if !isAligned(bytes, offset) { throw SystemError("pwrite", path, code: EINVAL) }
        if isSegment, inode.isSettled(piece, at: offset) {
            disk.trace.violated("a write of \(piece.count) bytes at \(offset) changes durable bytes of \(path)")
        }
        let growth = max(0, offset + piece.count - inode.current.count)
        let room = disk.room(for: growth)
        if room < growth {
            disk.faults.note(.fullDisk)
            inode.write(Array(piece.dropLast(growth - room)), at: offset)
            throw failed(SystemError("pwrite", path, code: ENOSPC))
        }
        do throws(SystemError) {
            if isSegment { try disk.checkSegment("pwrite", path) }
            try disk.faults.check(.writeError, "pwrite", path)
        } catch { throw failed(error) }
        do throws(SystemError) { try disk.faults.check(.shortWrite, "pwrite", path) } catch {
            inode.write(Array(piece.prefix(disk.random.below(piece.count))), at: offset)
            throw failed(error)
        }
        inode.write(piece, at: offset)
    }

    private func isAligned(_ bytes: Span<UInt8>, _ offset: Int) -> Bool {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let place = Int(bitPattern: buffer.baseAddress)
            return offset % blockSize == 0 && bytes.count % blockSize == 0 && place % blockSize == 0
        }
    }

    private func beginChange() throws(SystemError) {
        if !isWritable { throw SystemError("pwrite", path, code: EBADF) }
        if hasFailed { disk.trace.violated("\(path) is written again after a failure") }
    }

    private func failed(_ error: SystemError) -> SystemError {
        hasFailed = true
        if isSegment { disk.onSegmentFailure() }
        return error
    }

    func sync() throws(SystemError) {
        try call("sync")
        if hasFailed { disk.trace.violated("\(path) is synced again after a failure") }
        do throws(SystemError) {
            try disk.checkCursors(path)
            try disk.faults.check(.syncError, "fdatasync", path)
        } catch {
            inode.failSync(&disk.random)
            throw failed(error)
        }
        inode.sync(&disk.random)
    }

    func truncate(to size: Int) throws(SystemError) {
        try call("truncate", size)
        try disk.faults.check(.truncateError, "ftruncate", path)
        inode.resize(to: size)
    }

    func allocate(_ size: Int) throws(SystemError) {
        try call("allocate", size)
        let growth = max(0, size - inode.current.count)
        if disk.room(for: growth) < growth {
            disk.faults.note(.fullDisk)
            throw SystemError("posix_fallocate", path, code: ENOSPC)
        }
        try disk.faults.check(.allocateError, "posix_fallocate", path)
        if disk.random.oneIn(8) { throw SystemError("posix_fallocate", path, code: EOPNOTSUPP) }
        inode.allocate(size)
    }

    func tryLock() throws(SystemError) -> Bool {
        try call("lock")
        if let owner = inode.owner, owner !== self, owner.life == disk.life { return false }
        inode.owner = self
        return true
    }
}
