import Delivery
import Events
import Platform
import Synchronization
import Telemetry
import Testing

@testable import Destinations

/// An older journal beside newer files: what `open` cuts may exist nowhere else.
@Suite struct FileTailTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private func disk(keepsAttributes: Bool) -> FaultyDisk {
        let disk = FaultyDisk()
        disk.state.withLock { $0.keepsAttributes = keepsAttributes }
        return disk
    }

    private func options(_ name: String = "events.ndjson") -> FileDestinationOptions {
        FileDestinationOptions(
            path: directory.path + "/" + name,
            compression: name.hasSuffix(".gz") ? .gzip : name.hasSuffix(".zst") ? .zstd : .none)
    }

    private var copies: [String] { directory.files.filter { $0.contains(".cut-") } }

    @Test(arguments: ["events.ndjson", "events.ndjson.gz", "events.ndjson.zst"])
    func `a tail that the journal has is cut without a copy`(name: String) throws {
        let bound = FakeBound(end: 0)
        let bench = try FileBench(options(name), bound: bound)
        bound.grow(to: 10)
        bench.deliver(0..<10)
        try bench.checkpoint(10)
        bound.grow(to: 30)
        bench.deliver(10..<20)
        bench.deliver(20..<30)
        bound.restart(at: 30)
        try bench.start()
        #expect(try directory.lines(name) == (0..<10).map(line))
        bench.deliver(10..<30)
        #expect(try directory.lines(name) == (0..<30).map(line))
        #expect(directory.files == [name])
        #expect(bench.telemetry.counts()["file_tail_kept"] == nil)
    }

    /// The filter passes few events, so that the tail has fewer lines than the older journal has events.
    @Test(arguments: ["events.ndjson", "events.ndjson.gz", "events.ndjson.zst"])
    func `a tail that an older journal lacks is kept beside the file, even if it has few lines`(name: String) throws {
        let bound = FakeBound(end: 1000)
        let bench = try FileBench(options(name), bound: bound)
        bench.deliver(0..<10)
        try bench.checkpoint(100)
        let older = bench.durable
        let length = directory.bytes(name).count
        bound.grow(to: 1500)
        bench.deliver(1490..<1500)
        try bench.checkpoint(1500)
        let tail = Array(directory.bytes(name).dropFirst(length))
        bound.restart(at: 1000)
        try bench.restore(older)
        #expect(try directory.lines(name) == (0..<10).map(line))
        #expect(copies == [name + ".cut-2026-01-31T12-00-00Z.1"])
        #expect(directory.bytes(copies[0]) == tail)
        #expect(bench.telemetry.counts()["file_tail_kept"] == 1)

        // A crash of the restored journal is an ordinary crash.
        bound.grow(to: 1200)
        bench.deliver(1000..<1200)
        bound.restart(at: 1200)
        try bench.start()
        bench.deliver(1000..<1200)
        #expect(try directory.lines(name) == (0..<10).map(line) + (1000..<1200).map(line))
        #expect(copies.count == 1)
    }

    @Test func `new events before the file could be opened do not hide that the journal is older`() throws {
        let bound = FakeBound(end: 1500)
        let bench = try FileBench(options(), bound: bound)
        bench.deliver(0..<10)
        try bench.checkpoint(10)
        let older = bench.durable
        bench.deliver(1000..<1500)
        bound.restart(at: 1000)
        bound.grow(to: 2000)
        bound.restart(at: 2000)
        try bench.restore(older)
        #expect(copies.count == 1)
        #expect(try directory.lines("events.ndjson") == (0..<10).map(line))
    }

    @Test(arguments: [(19, false), (20, false), (21, true)] as [(UInt64, Bool)])
    func `without attributes, more lines than the journal has events are kept`(lines: UInt64, isKept: Bool) throws {
        let bound = FakeBound(end: 100)
        let bench = try FileBench(options(), disk: disk(keepsAttributes: false), bound: bound)
        bench.deliver(0..<80)
        try bench.checkpoint(80)
        bench.deliver(80..<80 + lines)
        bound.restart(at: 100)
        try bench.start()
        #expect(try directory.lines("events.ndjson") == (0..<80).map(line))
        #expect(copies.count == (isKept ? 1 : 0))
        if isKept { #expect(directory.text(copies[0]) == (80..<80 + lines).map { line($0) + "\n" }.joined()) }
    }

    @Test func `without attributes, the lines of all files are counted together, and CSV rows once each`() throws {
        var options = options("{{ t }}.csv")
        options = FileDestinationOptions(
            path: [.text(directory.path + "/"), .value(FieldPath(["t"])), .text(".csv")])
        options.format = .csv(columns: ["t", "n"])
        for (end, kept) in [(20, 0), (19, 1)] as [(UInt64, Int)] {
            let inner = try FileTailTests()
            var options = options
            options.path[0] = .text(inner.directory.path + "/")
            let bound = FakeBound(end: 100)
            let bench = try FileBench(options, disk: disk(keepsAttributes: false), bound: bound)
            bench.deliver(
                makeBatch(0..<20, at: { _ in bench.clock.wallClock() }) {
                    #"{"t":"t\#($0 % 3)","n":"two\nlines \"of\" \#($0)"}"#
                })
            bound.restart(at: 100)
            bound.state.withLock { $0.unverified = end }
            try bench.start()
            #expect(inner.copies.count == kept)
        }
    }

    @Test func `without attributes, compressed bytes are always kept`() throws {
        let bound = FakeBound(end: 100)
        let bench = try FileBench(options("events.ndjson.gz"), disk: disk(keepsAttributes: false), bound: bound)
        bench.deliver(0..<10)
        bound.restart(at: 100)
        try bench.start()
        #expect(copies.count == 1)
        #expect(try gunzip(directory.bytes(copies[0])) == Array((0..<10).map { line($0) + "\n" }.joined().utf8))
    }

    @Test func `nothing is cut while the copy cannot be written, and no part of a copy stays`() throws {
        let disk = FaultyDisk()
        let bound = FakeBound(end: 1500)
        let bench = try FileBench(options(), disk: disk, bound: bound)
        bench.deliver(0..<1500)
        let whole = directory.text("events.ndjson")
        bound.restart(at: 0)
        disk.state.withLock {
            $0.fullBelow = directory.path
            $0.space = 1000
        }
        #expect(throws: SystemError.self) { try bench.start() }
        #expect(directory.text("events.ndjson") == whole)
        #expect(copies.isEmpty)
        disk.state.withLock { $0.space = .max }
        try bench.start()
        #expect(directory.text(copies[0]) == whole)
        #expect(directory.text("events.ndjson").isEmpty)
    }
}
