import Platform
import Synchronization
import Telemetry
import Testing

@testable import Journal

/// How the next segment is filled with zeros.
@Suite struct SpareSegmentTests {
    /// A file in memory that shows each write before it is made, and the sync after it.
    private final class WatchedFile: DiskFile {
        private let file: any DiskFile
        private let disk: WatchedDisk
        init(_ file: any DiskFile, _ disk: WatchedDisk) { (self.file, self.disk) = (file, disk) }

        var path: String { file.path }
        var blockSize: Int { file.blockSize }
        func size() throws(SystemError) -> Int { try file.size() }
        func read(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) throws(SystemError) -> Int {
            try file.read(count, at: offset, appendingTo: &bytes)
        }
        func write(_ bytes: Span<UInt8>, at offset: Int) throws(SystemError) {
            disk.note(write: bytes.count)
            try file.write(bytes, at: offset)
        }
        func sync() throws(SystemError) {
            disk.onSync()
            try file.sync()
        }
        func truncate(to size: Int) throws(SystemError) { try file.truncate(to: size) }
        func allocate(_ size: Int) throws(SystemError) {
            disk.allocations.add(1, ordering: .relaxed)
            if disk.cannotAllocate { throw SystemError("posix_fallocate", path, code: 95) }
            try file.allocate(size)
        }
        func tryLock() throws(SystemError) -> Bool { try file.tryLock() }
    }

    private final class WatchedDisk: Disk {
        let memory = MemoryDisk()
        let writes = Mutex<[Int]>([])
        let allocations = Atomic(0)
        let cannotAllocate: Bool
        private let onWrite: @Sendable (Int) -> Void
        let onSync: @Sendable () -> Void

        /// - Parameter onWrite: gets the number of writes before this one.
        init(
            cannotAllocate: Bool = false, onWrite: @escaping @Sendable (Int) -> Void = { _ in },
            onSync: @escaping @Sendable () -> Void = {}
        ) {
            (self.cannotAllocate, self.onWrite, self.onSync) = (cannotAllocate, onWrite, onSync)
        }

        func note(write count: Int) {
            onWrite(
                writes.withLock {
                    $0.append(count)
                    return $0.count - 1
                })
        }

        func open(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
            WatchedFile(try memory.open(path, mode), self)
        }
        func openDirect(_ path: String, _ mode: DiskOpenMode) throws(SystemError) -> any DiskFile {
            WatchedFile(try memory.openDirect(path, mode), self)
        }
        func list(_ path: String) throws(SystemError) -> [String] { try memory.list(path) }
        func status(_ path: String) throws(SystemError) -> DiskStatus? { try memory.status(path) }
        func modificationTime(_ path: String) throws(SystemError) -> Int64? { nil }
        func rename(_ old: String, to new: String) throws(SystemError) { try memory.rename(old, to: new) }
        func remove(_ path: String) throws(SystemError) { try memory.remove(path) }
        func makeDirectory(_ path: String, permissions: UInt32) throws(SystemError) {
            try memory.makeDirectory(path, permissions: permissions)
        }
        func syncDirectory(_ path: String) throws(SystemError) { try memory.syncDirectory(path) }
        func freeSpace(_ path: String) throws(SystemError) -> Int { try memory.freeSpace(path) }
    }

    private final class ManualClock: Clock {
        private let time = Atomic<Int64>(1_000_000_000)
        func now() -> Instant { Instant(nanoseconds: time.load(ordering: .relaxed)) }
        func wallClock() -> Int64 { time.load(ordering: .relaxed) }
        func advance(_ duration: Duration) { time.add(duration.inNanoseconds, ordering: .relaxed) }
    }

    private static let size = 16 << 20
    private static let piece = 256 << 10

    private func makeSpare(_ disk: WatchedDisk, _ clock: ManualClock = ManualClock()) throws -> SpareSegment {
        var options = JournalOptions()
        options.segmentSize = Self.size
        try disk.makeDirectory("/journal", permissions: 0o700)
        let uuid = try #require(JournalUUID(bytes: Array(0..<16)))
        let context = JournalContext(
            directory: "/journal", uuid: uuid, options: options, disk: disk, clock: clock,
            telemetry: Telemetry(sink: Rig.Lines(), now: { 0 }))
        return SpareSegment(context, Quarantine(context))
    }

    private func expectWhole(_ disk: WatchedDisk, sourceLocation: SourceLocation = #_sourceLocation) {
        let bytes = disk.memory.contents("/journal/spare")
        #expect(bytes?.count == Self.size && bytes?.allSatisfy { $0 == 0 } == true, sourceLocation: sourceLocation)
    }

    @Test func `a commit waits behind one small piece at most`() throws {
        let disk = WatchedDisk()
        let spare = try makeSpare(disk)
        try spare.prepare()
        #expect(spare.isReady)
        #expect(disk.writes.withLock { $0 } == Array(repeating: Self.piece, count: Self.size / Self.piece))
        #expect(disk.allocations.load(ordering: .relaxed) == 0)
        expectWhole(disk)
    }

    @Test func `a disk that takes long for each sync gets larger pieces`() throws {
        let clock = ManualClock()
        let disk = WatchedDisk(onSync: { clock.advance(.milliseconds(10)) })
        try makeSpare(disk, clock).prepare()
        let writes = disk.writes.withLock { $0 }
        // Pieces of 512 KiB in 10 ms are 50 MiB per second, those of 1 MiB are fast enough.
        #expect(writes.prefix(5) == [Self.piece, 2 * Self.piece, 4 * Self.piece, 2 * Self.piece, 4 * Self.piece])
        #expect(writes.reduce(0, +) == Self.size && writes.allSatisfy { $0 <= 4 * Self.piece })
        expectWhole(disk)
    }

    @Test(arguments: [false, true]) func `when the writer waits, the rest is reserved, or written where it cannot be`(
        cannotAllocate: Bool
    ) throws {
        let writer = Mutex<(@Sendable () -> Void)?>(nil)
        let disk = WatchedDisk(
            cannotAllocate: cannotAllocate, onWrite: { before in if before == 3 { writer.withLock { $0 }?() } })
        let spare = try makeSpare(disk)
        let segments = SegmentList([])
        writer.withLock { $0 = { #expect((try? spare.take(as: 0, into: segments)) == nil) } }
        try spare.prepare()
        let writes = disk.writes.withLock { $0 }
        #expect(writes.count == (cannotAllocate ? Self.size / Self.piece : 4))
        #expect(disk.allocations.load(ordering: .relaxed) == 1)
        expectWhole(disk)
        #expect(try spare.take(as: 0, into: segments) != nil)
    }
}
