import Events
import Foundation
import Platform
import Telemetry
import Testing

@testable import Destinations

@Suite("Old files")
struct FileRetentionTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private func options(
        _ name: String, size: Int? = nil, keep: FileDestinationOptions.Keep
    ) -> FileDestinationOptions {
        var options = FileDestinationOptions(path: directory.path + "/" + name, rotateSize: size)
        options.keep = keep
        return options
    }

    /// A file that was last written to so long before the bench's now.
    private func make(_ name: String, _ text: String = "x\n", age: Duration) throws {
        let path = directory.path + "/" + name
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try directory.write(text, to: name)
        let date = Date(timeIntervalSince1970: Double(FakeClock().wallClock()) / 1e9 - Double(age.components.seconds))
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }

    @Test("the newest rotated files stay, as many as are to be kept, and the live one")
    func keepsFiles() throws {
        let bench = try FileBench(options("events.ndjson", size: 100, keep: .init(files: 3)))
        for round in 0..<20 as Range<UInt64> {
            bench.deliver(round * 2..<round * 2 + 2)
            bench.clock.advance(.seconds(11))
            try bench.checkpoint(round * 2 + 2)
        }
        #expect(directory.files.count <= 5)
        #expect(directory.files.count >= 4)
        #expect(try directory.lines("events.ndjson").last == line(39))
        #expect(bench.telemetry.counts()["old_files_removed"] ?? 0 > 5)
    }

    @Test("only what the template can have come to is removed, and nothing of this time")
    func removesOnlyItsOwn() throws {
        for name in [
            "2025-12-01.ndjson", "2025-12-02.ndjson", "2026-01-30.ndjson", "2025-12-01.2025-12-01T10-00-00Z.1.ndjson",
            "2026-01-31.2026-01-31T10-00-00Z.12.ndjson",
        ] { try make(name, age: .seconds(86_400 * 40)) }
        let others = [
            "2025-12-01.ndjson.bak", "notes.ndjson", "20-12-01.ndjson", "2025-12-01.ndjson.gz", "sub/2025-12-01.ndjson",
            "2025-12-01.2025-12-01T10-00-00Z.x.ndjson", "2026-01-31.ndjson",
        ]
        for name in others { try make(name, age: .seconds(86_400 * 400)) }
        let bench = try FileBench(options("%Y-%m-%d.ndjson", keep: .init(time: .seconds(86_400 * 30))))
        try bench.checkpoint(0)
        #expect(directory.files == others.sorted())
    }

    @Test("the newest stay as long as they are not larger together than is allowed")
    func keepsSize() throws {
        for day in 1...9 { try make("2026-01-0\(day).ndjson", String(repeating: "x", count: 99) + "\n", age: .seconds(86_400 * (30 - day))) }
        let bench = try FileBench(options("%Y-%m-%d.ndjson", keep: .init(size: 350)))
        try bench.checkpoint(0)
        #expect(directory.files == ["2026-01-07.ndjson", "2026-01-08.ndjson", "2026-01-09.ndjson"])
    }

    @Test("directories of the template's own go when nothing is left in them")
    func removesDirectories() throws {
        try make("a/2025/old.ndjson", age: .seconds(86_400 * 40))
        try make("b/2025/old.ndjson", age: .seconds(86_400 * 40))
        try make("b/2025/foreign", age: .seconds(86_400 * 40))
        var options = FileDestinationOptions(
            path: [.text(directory.path + "/"), .value(FieldPath(["event"])), .text("/%Y/old.ndjson")])
        options.keep = .init(files: 1, time: .seconds(86_400))
        let bench = try FileBench(options)
        bench.deliver(0..<1)
        try bench.checkpoint(1)
        #expect(directory.files == ["Viewed/2026/old.ndjson", "b/2025/foreign"])
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/a"))
    }

    /// A directory in shared memory, which keeps times of every year and sizes up to 2^63; ext4 does not.
    private func withSharedMemory(_ body: (String) throws -> Void) throws {
        let shared = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        let base = "\(shared)/penstock-retention-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: base) }
        try body(base)
    }

    @Test("a file's time may be of any year, and only old files go", arguments: ["1600-01-01", "1700-01-01", "0001-01-01", "1969-12-31", "2300-01-01", "9999-12-31"])
    func timesOfEveryYear(date: String) throws {
        try withSharedMemory { base in
            let path = base + "/2025-12-01.ndjson"
            try "x\n".write(toFile: path, atomically: false, encoding: .utf8)
            let touch = Process()
            touch.executableURL = URL(fileURLWithPath: "/usr/bin/touch")
            touch.arguments = ["-d", date, path]
            try touch.run()
            touch.waitUntilExit()
            try #require(touch.terminationStatus == 0)
            var options = FileDestinationOptions(path: base + "/%Y-%m-%d.ndjson", rotateSize: nil)
            options.keep = .init(time: .seconds(86_400 * 30), size: .max)
            let bench = try FileBench(options)
            try bench.checkpoint(0)
            #expect(FileManager.default.fileExists(atPath: path) == (date > "2026"))
        }
    }

    @Test("sparse files whose sizes exceed 64 bits together count as too much")
    func hugeSizes() throws {
        try withSharedMemory { base in
            let names = (1...3).map { "2025-12-0\($0).ndjson" }
            for name in names {
                try "x\n".write(toFile: base + "/" + name, atomically: false, encoding: .utf8)
                let isLarge = unsafe truncate(base + "/" + name, 1 << 62) == 0
                // Not every filesystem has files of this size.
                if !isLarge { return }
            }
            var options = FileDestinationOptions(path: base + "/%Y-%m-%d.ndjson", rotateSize: nil)
            options.keep = .init(size: .max - 1)
            let bench = try FileBench(options)
            try bench.checkpoint(0)
            let left = names.filter { FileManager.default.fileExists(atPath: base + "/" + $0) }
            #expect(left.count == 1)
        }
    }

    @Test("a file beside the ledger that is named for the largest number of all is none of the ledger's")
    func hugeLedgerNumber() throws {
        let ledger = try TemporaryDirectory()
        try ledger.write("", to: "archive.18446744073709551615")
        let bench = try FileBench(options("events.ndjson", keep: .init(files: 3)), ledger: ledger)
        bench.deliver(0..<2)
        try bench.checkpoint(2)
        #expect(try directory.lines("events.ndjson").count == 2)
    }
}
