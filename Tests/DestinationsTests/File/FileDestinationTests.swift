import Delivery
import Events
import Foundation
import Platform
import Telemetry
import Testing

@testable import Destinations

@Suite("A file destination")
struct FileDestinationTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    func options(
        _ name: String, _ compression: FileDestinationOptions.Compression = .none, size: Int? = nil,
        every: Duration? = nil, timezone: String? = nil
    ) -> FileDestinationOptions {
        FileDestinationOptions(
            path: directory.path + "/" + name, compression: compression, rotateSize: size, rotateEvery: every,
            timezone: timezone)
    }

    @Test func `a file destination creates its file at the start and holds whole lines after each batch`() throws {
        let bench = try FileBench(options("a/b/events.ndjson"))
        #expect(directory.files == ["a/b/events.ndjson"])
        #expect(bench.deliver(0..<3)?.isDelivered == true)
        #expect(try directory.lines("a/b/events.ndjson") == (0..<3).map(line))
        bench.deliver(3..<5)
        #expect(try directory.lines("a/b/events.ndjson") == (0..<5).map(line))
        var status = stat()
        unsafe #expect(stat(directory.path + "/a/b/events.ndjson", &status) == 0)
        #expect(status.st_mode & 0o137 == 0)
    }

    @Test(arguments: [0, 1, 2, 3])
    func `a restart cuts the file to its recorded length and continues there`(checkpointAfter: UInt64) throws {
        let bench = try FileBench(options("events.ndjson"))
        for number in 0..<4 as Range<UInt64> {
            if number == checkpointAfter { try bench.checkpoint(number) }
            bench.deliver(number..<number + 1)
        }
        try bench.start()
        #expect(try directory.lines("events.ndjson") == (0..<checkpointAfter).map(line))
        bench.deliver(checkpointAfter..<5)
        #expect(try directory.lines("events.ndjson") == (0..<5).map(line))
    }

    @Test func `a file that another program began is continued and never cut`() throws {
        try directory.write("not ours\nhalf a line", to: "events.ndjson")
        let bench = try FileBench(options("events.ndjson"))
        bench.deliver(0..<2)
        #expect(directory.text("events.ndjson") == "not ours\nhalf a line\n\(line(0))\n\(line(1))\n")
        try bench.start()
        #expect(directory.text("events.ndjson") == "not ours\nhalf a line")
        bench.deliver(0..<1)
        #expect(directory.text("events.ndjson") == "not ours\nhalf a line\n\(line(0))\n")
    }

    @Test(arguments: ["gz", "zst"])
    func `each batch is a gzip member or zstd frame of its own`(suffix: String) throws {
        let name = "events.ndjson.\(suffix)"
        let bench = try FileBench(options(name, suffix == "gz" ? .gzip : .zstd))
        for round in 0..<20 as Range<UInt64> {
            #expect(bench.deliver(round * 50..<round * 50 + 50)?.isDelivered == true)
            #expect(try directory.lines(name) == (0..<round * 50 + 50).map(line))
        }
        try bench.checkpoint(1000)
        let size = directory.bytes(name).count
        bench.deliver(1000..<1100)
        try bench.start()
        #expect(directory.bytes(name).count == size)
        bench.deliver(1000..<1003)
        #expect(try directory.lines(name) == (0..<1003).map(line))
    }

    @Test(arguments: [nil, "Asia/Kolkata", "America/New_York"])
    func `each event is written to the file of its receive time`(timezone: String?) throws {
        let bench = try FileBench(options("%Y-%m-%d/%H.ndjson", timezone: timezone))
        #expect(directory.files.isEmpty)
        // One event every 30 minutes from 2026-03-08T00:00:00Z, the day when New York changes its clocks.
        let start: Int64 = 1_772_928_000_000_000_000
        bench.deliver(0..<48, at: { start + Int64($0) * 1_800_000_000_000 })
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: timezone ?? "UTC")
        formatter.dateFormat = "yyyy-MM-dd/HH"
        var expected: [String: [String]] = [:]
        for number in 0..<48 as Range<UInt64> {
            let date = Date(timeIntervalSince1970: Double(start) / 1e9 + Double(number) * 1800)
            expected[formatter.string(from: date) + ".ndjson", default: []].append(line(number))
        }
        #expect(directory.files == expected.keys.sorted())
        for (name, lines) in expected { #expect(try directory.lines(name) == lines) }
    }

    @Test func `a file that would exceed its size is renamed, and a batch is split if needed`() throws {
        let bench = try FileBench(options("events.ndjson", size: 500))
        bench.deliver(0..<35)
        let files = directory.files
        #expect(files.contains("events.ndjson"))
        #expect(
            files.filter { $0 != "events.ndjson" }
                == (1..<files.count).map { "events.2026-01-31T12-00-00Z.\($0).ndjson" })
        #expect(files.count == 3)
        #expect(files.allSatisfy { directory.bytes($0).count <= 500 })
        let inOrder = files.filter { $0 != "events.ndjson" } + ["events.ndjson"]
        #expect(try inOrder.flatMap { try directory.lines($0) } == (0..<35).map(line))
    }

    @Test func `the events of one position are never split over two files`() throws {
        let bench = try FileBench(options("events.ndjson", size: 500))
        var batch = makeBatch(0..<35) { _ in bench.clock.wallClock() }
        for k in batch.events.indices {
            batch.events[k].position = UInt64(k / 5)
            batch.events[k].part = UInt32(k % 5)
        }
        bench.deliver(batch)
        let files = directory.files
        let inOrder = files.filter { $0 != "events.ndjson" } + ["events.ndjson"]
        #expect(files.count > 2)
        for file in inOrder { #expect(try directory.lines(file).count.isMultiple(of: 5)) }
        #expect(try inOrder.flatMap { try directory.lines($0) } == (0..<35).map(line))
    }

    @Test(arguments: ["gz", "zst"])
    func `a rotated file keeps its compression extension`(suffix: String) throws {
        let bench = try FileBench(options("a.ndjson.\(suffix)", suffix == "gz" ? .gzip : .zstd, size: 600))
        for round in 0..<20 as Range<UInt64> { bench.deliver(round * 10..<round * 10 + 10) }
        let files = directory.files
        #expect(files.count > 2)
        #expect(files.contains("a.2026-01-31T12-00-00Z.1.ndjson.\(suffix)"))
        #expect(files.allSatisfy { directory.bytes($0).count <= 600 })
        let lines = try files.flatMap { try directory.lines($0) }
        #expect(lines.count == 200)
        #expect(Set(lines) == Set((0..<200).map(line)))
    }

    @Test func `a file is renamed when an event of a later time window arrives, even within a batch`() throws {
        let bench = try FileBench(options("events.ndjson", every: .seconds(3600)))
        let noon = bench.clock.wallClock()
        bench.deliver(0..<6, at: { noon + Int64($0) * 1_200_000_000_000 })
        #expect(directory.files == ["events.2026-01-31T12-00-00Z.1.ndjson", "events.ndjson"])
        #expect(try directory.lines("events.2026-01-31T12-00-00Z.1.ndjson") == (0..<3).map(line))
        // A clock that was set back does not rotate the file.
        bench.deliver(6..<7, at: { _ in noon })
        #expect(try directory.lines("events.ndjson") == (3..<7).map(line))
    }

    @Test(arguments: [true, false])
    func `a file that another program renamed or removed is created again`(renamed: Bool) throws {
        let bench = try FileBench(options("events.ndjson"))
        bench.deliver(0..<2)
        let path = directory.path + "/events.ndjson"
        if renamed { try SystemDisk().rename(path, to: path + ".1") } else { try SystemDisk().remove(path) }
        bench.clock.advance(.seconds(2))
        #expect(bench.deliver(2..<4)?.isDelivered == true)
        #expect(try directory.lines("events.ndjson") == [line(2), line(3)])
        if renamed { #expect(try directory.lines("events.ndjson.1") == [line(0), line(1)]) }
        #expect(bench.telemetry.counts()["file_changed_outside"] == 1)
        try bench.start()
        #expect(directory.text("events.ndjson").isEmpty)
        bench.deliver(2..<3)
        #expect(try directory.lines("events.ndjson") == [line(2)])
    }

    @Test func `a file that another program truncated is continued at its end, without a hole`() throws {
        let bench = try FileBench(options("events.ndjson"))
        bench.deliver(0..<20)
        try SystemDisk().open(directory.path + "/events.ndjson", .readWrite).truncate(to: 0)
        bench.clock.advance(.seconds(2))
        bench.deliver(20..<22)
        #expect(try directory.lines("events.ndjson") == [line(20), line(21)])
        try bench.start()
        #expect(bench.durable.position == 20)
        #expect(directory.text("events.ndjson").isEmpty)
    }

    @Test(arguments: [true, false])
    func `a restart accepts a recorded file that was removed or truncated`(gone: Bool) throws {
        let bench = try FileBench(options("events.ndjson"))
        bench.deliver(0..<10)
        try bench.checkpoint(10)
        let path = directory.path + "/events.ndjson"
        if gone { try SystemDisk().remove(path) } else { try SystemDisk().open(path, .readWrite).truncate(to: 5) }
        try bench.start()
        bench.deliver(10..<11)
        #expect(directory.text("events.ndjson") == (gone ? "" : String(line(0).prefix(5)) + "\n") + line(10) + "\n")
        try bench.start()
        bench.deliver(10..<11)
        #expect(directory.text("events.ndjson") == (gone ? "" : String(line(0).prefix(5)) + "\n") + line(10) + "\n")
    }

    @Test func `a changed path starts a new file and leaves the old one whole`() throws {
        let first = try FileBench(options("old.ndjson"))
        first.deliver(0..<3)
        try first.checkpoint(3)
        first.deliver(3..<5)
        let second = try FileBench(options("new.ndjson"), ledger: first.ledger, from: first.durable)
        second.deliver(3..<6)
        #expect(try directory.lines("old.ndjson") == (0..<3).map(line))
        #expect(try directory.lines("new.ndjson") == (3..<6).map(line))
    }

    @Test func `a batch is retried and nothing is written when the store cannot commit`() throws {
        let bench = try FileBench(options("events.ndjson", size: 100))
        bench.deliver(0..<2)
        bench.commitError = Unreadable(what: "store")
        guard case .all(.retry) = bench.deliver(2..<4) else {
            Issue.record("not a retry")
            return
        }
        #expect(directory.files == ["events.ndjson"])
        #expect(try directory.lines("events.ndjson") == (0..<2).map(line))
        bench.commitError = nil
        #expect(bench.deliver(2..<4)?.isDelivered == true)
        #expect(try directory.lines("events.ndjson") == (2..<4).map(line))
    }

    @Test func `unusable options and states are rejected`() throws {
        #expect(throws: FileDestinationError.self) { try FileBench(options("a", timezone: "Mars/Olympus")) }
        #expect(throws: FileDestinationError.self) { try FileBench(FileDestinationOptions(path: "relative")) }
        let bench = try FileBench(options("events.ndjson"))
        for state in [[9], Array(repeating: 0xff, count: 40), [1] + Array(repeating: 0xff, count: 40)] as [[UInt8]] {
            #expect(throws: FileDestinationError.self) {
                try bench.destination.open(from: Cursor(position: 0, state: state))
            }
        }
    }
}

@Suite("The file destination's parts")
struct FilePartsTests {
    @Test(arguments: [nil, "a.2026-01-31T12-00-00Z.1.ndjson"])
    func `a record is read as it was written`(rotated: String?) throws {
        let record = FileRecord(
            path: "/var/lib/ä/a.ndjson", length: 1 << 40, window: -3,
            identity: FileIdentity(device: 1, inode: 2, born: -3),
            rotatedName: rotated)
        var bytes: [UInt8] = []
        record.encode(into: &bytes)
        var rest = bytes[...]
        #expect(FileRecord(&rest) == record)
        #expect(rest.isEmpty)
        for count in bytes.indices {
            var part = bytes.prefix(count)
            #expect(FileRecord(&part) == nil)
        }
    }

    @Test(
        arguments: [
            ("events.ndjson", "events.T.2.ndjson"), ("events.ndjson.gz", "events.T.2.ndjson.gz"),
            ("a.b.json.zst", "a.b.T.2.json.zst"), ("events", "events.T.2"), ("events.gz", "events.T.2.gz"),
            (".hidden", ".hidden.T.2"),
        ])
    func `a rotated name keeps its extensions`(name: String, expected: String) {
        let made = RotatedName.make(from: name, seconds: 1_769_860_805, number: 2)
        #expect(made == expected.replacing(".T.", with: ".2026-01-31T12-00-05Z."))
    }

    @Test(arguments: [("%H%M", 60), ("%-S", 1), ("%T", 1), ("%d", 60)])
    func `a filled-in path holds for a minute, or a second if it has seconds`(pattern: String, seconds: Int64) throws {
        var template = try PathTemplate([.text("/x/" + pattern)])
        let filled = try template.filled(at: 1_769_860_805_500_000_000)
        #expect(filled.until - filled.from == seconds * 1_000_000_000)
        #expect(filled.holds(1_769_860_805_500_000_000))
        #expect(!template.isFixed)
        #expect(throws: FileDestinationError.self) { try template.filled(at: .min) }
    }

    @Test func `a doubled percent sign stands for one`() throws {
        var template = try PathTemplate([.text("/x/100%%/%Y")])
        #expect(try template.filled(at: 0).path == "/x/100%/1970")
    }
}
