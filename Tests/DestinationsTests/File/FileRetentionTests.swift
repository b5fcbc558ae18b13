import Events
import Foundation
import Platform
import Telemetry
import Testing

@testable import Destinations

@Suite("Retention of old files")
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

    /// Makes a file that was last written `age` before the bench's current time.
    private func make(_ name: String, _ text: String = "x\n", age: Duration) throws {
        let path = directory.path + "/" + name
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try directory.write(text, to: name)
        let date = Date(timeIntervalSince1970: Double(FakeClock().wallClock()) / 1e9 - Double(age.components.seconds))
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }

    @Test func `retention keeps the configured number of rotated files and the live one`() throws {
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

    @Test func `retention removes only files that the template can have made, and none of the current time`() throws {
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

    @Test func `retention keeps the newest files up to the configured size`() throws {
        for day in 1...9 {
            try make(
                "2026-01-0\(day).ndjson", String(repeating: "x", count: 99) + "\n", age: .seconds(86_400 * (30 - day)))
        }
        let bench = try FileBench(options("%Y-%m-%d.ndjson", keep: .init(size: 350)))
        try bench.checkpoint(0)
        #expect(directory.files == ["2026-01-07.ndjson", "2026-01-08.ndjson", "2026-01-09.ndjson"])
    }

    @Test func `retention removes the template's directories when they are empty`() throws {
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

    /// A directory in shared memory. It keeps file times of every year and sizes up to 2^63, which ext4 does not.
    private func withSharedMemory(_ body: (String) throws -> Void) throws {
        let shared =
            FileManager.default.isWritableFile(atPath: "/dev/shm")
            ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        let base = "\(shared)/penstock-retention-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: base) }
        try body(base)
    }

    @Test(arguments: ["1600-01-01", "1700-01-01", "0001-01-01", "1969-12-31", "2300-01-01", "9999-12-31"])
    func `retention handles file times of any year and removes only old files`(date: String) throws {
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

    @Test func `retention removes sparse files whose total size exceeds 64 bits`() throws {
        try withSharedMemory { base in
            let names = (1...3).map { "2025-12-0\($0).ndjson" }
            for name in names {
                try "x\n".write(toFile: base + "/" + name, atomically: false, encoding: .utf8)
                let isLarge = unsafe truncate(base + "/" + name, 1 << 62) == 0
                // Not every filesystem supports files of this size.
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

    @Test func `the ledger ignores a file that is named for the largest number`() throws {
        let ledger = try TemporaryDirectory()
        try ledger.write("", to: "archive.18446744073709551615")
        let bench = try FileBench(options("events.ndjson", keep: .init(files: 3)), ledger: ledger)
        bench.deliver(0..<2)
        try bench.checkpoint(2)
        #expect(try directory.lines("events.ndjson").count == 2)
    }
}
