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
}
