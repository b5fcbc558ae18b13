import Glibc
import Testing

@testable import Platform

@Suite struct CachedReadTests {
    @Test func `a cached read finds bytes that were written through the page cache`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        let file = try SystemDisk().open(path, .createNew)
        let contents = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
        try file.write(contents.span, at: 0)
        var bytes: [UInt8] = [7]
        let got = file.readCached(5000, at: 1000, appendingTo: &bytes)
        #expect(got == 5000)
        #expect(bytes == [7] + contents[1000..<6000])
        #expect(file.readCached(100, at: 10_000, appendingTo: &bytes) == 0)
        // A file opened for direct I/O never reads the page cache.
        let direct = try SystemDisk().openDirect(path, .readOnly)
        if direct.blockSize > 1 { #expect(direct.readCached(100, at: 0, appendingTo: &bytes) == 0) }
        #expect(bytes.count == 5001)
    }

    @Test func `a cached read does not make the kernel load missing pages`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        let file = try SystemDisk().open(path, .createNew)
        try file.write([UInt8](repeating: 1, count: 1 << 20).span, at: 0)
        try file.sync()
        let descriptor = try FileDescriptor.open(path, O_RDONLY)
        posix_fadvise(descriptor.raw, 0, 0, POSIX_FADV_DONTNEED)
        var bytes: [UInt8] = []
        // The kernel may ignore the advice.
        guard file.readCached(4096, at: 0, appendingTo: &bytes) == 0 else { return }
        // A direct read gives the disk time to finish a read-ahead, if one was started.
        _ = try SystemDisk().openDirect(path, .readOnly).read(1 << 20, at: 0, appendingTo: &bytes)
        bytes = []
        #expect(file.readCached(4096, at: 0, appendingTo: &bytes) == 0)
    }
}
