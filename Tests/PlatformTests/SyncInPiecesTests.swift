import Glibc
import Platform
import Testing

/// The sync of a file that was appended to. What it must not change is the file.
@Suite struct SyncInPiecesTests {
    @Test(arguments: [
        0..<0, 0..<1, 4095..<4097, 0..<300_000, 1..<1_048_577, 200_000..<40_000_000, 40_000_000..<40_000_000,
    ])
    func `a file has its bytes after the sync`(appended: Range<Int>) throws {
        let directory = try TemporaryDirectory()
        let file = try SystemDisk().open(directory.path + "/file", .createOrReadWrite)
        let bytes = (0..<appended.upperBound).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try file.write(bytes.span, at: 0)
        try file.sync(inPieces: appended)
        var read: [UInt8] = []
        _ = try file.read(bytes.count + 1, at: 0, appendingTo: &read)
        #expect(read == bytes)
    }

    /// This file has no pages to write, like those of a filesystem without the call.
    @Test func `where the kernel cannot write a part of a file, all of it is synced`() throws {
        let file = try SystemDisk().open("/proc/self/mem", .readOnly)
        // fdatasync says why it cannot, and not the call before it.
        let error = #expect(throws: SystemError.self) { try file.sync(inPieces: 0..<10) }
        #expect(error?.description.contains("fdatasync") == true, "\(String(describing: error))")
    }
}
