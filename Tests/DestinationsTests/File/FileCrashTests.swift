import Delivery
import Events
import Foundation
import Platform
import Synchronization
import Telemetry
import Testing

@testable import Destinations

/// How a run ends, and which cursor remains.
enum Ending: String, CaseIterable, Sendable {
    /// kill -9: every written byte remains, and the cursor is the last one that the store received.
    case killed
    /// kill -9: every written byte remains, and the cursor is that of the store's last commit.
    case killedBeforeCommit
    /// Everything that was not synced is lost.
    case powerCut
}

enum Scenario: String, CaseIterable, Sendable {
    case plain, gzip, minutes, minutesZstd, size, sizeGzip, time, sizeAndMinutes, foreignFile, nestedDirectories
    case values, valuesSize, valuesMinutesGzip, csv, csvSizeValuesZstd

    func options(_ directory: String) -> FileDestinationOptions {
        let (name, compression, size, every) = parts
        let path = (directory + "/" + name).split(separator: "{{ t }}", omittingEmptySubsequences: false)
            .map { [FileDestinationOptions.PathPiece.text(String($0))] }.joined(separator: [.value(FieldPath(["t"]))])
        var options = FileDestinationOptions(
            path: Array(path), compression: compression, rotateSize: size, rotateEvery: every)
        if isCSV { options.format = .csv(columns: ["t", "n"]) }
        options.openFiles = 2
        return options
    }

    var isCSV: Bool { self == .csv || self == .csvSizeValuesZstd }

    private var parts: (String, FileDestinationOptions.Compression, Int?, Duration?) {
        switch self {
        case .plain, .foreignFile: ("events.ndjson", .none, nil, nil)
        case .gzip: ("events.ndjson.gz", .gzip, nil, nil)
        case .minutes: ("%H-%M.ndjson", .none, nil, nil)
        case .minutesZstd: ("%H-%M.ndjson.zst", .zstd, nil, nil)
        case .size: ("events.ndjson", .none, 400, nil)
        case .sizeGzip: ("events.ndjson.gz", .gzip, 300, nil)
        case .time: ("events.ndjson", .none, nil, .seconds(120))
        case .sizeAndMinutes: ("%H-%M.ndjson", .none, 200, nil)
        case .nestedDirectories: ("a/b-%M/c/events.ndjson", .none, nil, nil)
        case .values: ("{{ t }}/events.ndjson", .none, nil, nil)
        case .valuesSize: ("events-{{ t }}.ndjson", .none, 100, nil)
        case .valuesMinutesGzip: ("{{ t }}/%H-%M.ndjson.gz", .gzip, nil, nil)
        case .csv: ("events.csv", .none, 50, nil)
        case .csvSizeValuesZstd: ("{{ t }}.csv.zst", .zstd, 120, nil)
        }
    }
}

@Suite("A file destination across crashes")
struct FileCrashTests {
    static let total: UInt64 = 30

    /// A small worker: it offers batches, takes checkpoints and keeps cursors.
    private final class Run {
        let disk: FaultyDisk
        let options: FileDestinationOptions
        let ledger: TemporaryDirectory
        let syncsInBackground: Bool
        let hasValues: Bool
        let clock = FakeClock()
        /// The journal has all events, so nothing that is cut is kept.
        let bound = FakeBound(end: FileCrashTests.total)
        var taken: Cursor
        var durable: Cursor

        init(
            _ options: FileDestinationOptions, disk: FaultyDisk, ledger: TemporaryDirectory,
            syncsInBackground: Bool = false, from cursor: Cursor
        ) {
            self.options = options
            self.ledger = ledger
            self.syncsInBackground = syncsInBackground
            hasValues =
                options.format != .lines || options.path.contains { if case .value = $0 { true } else { false } }
            self.disk = disk
            taken = cursor
            durable = cursor
        }

        /// Runs until everything is delivered or the disk reports the end of the process.
        func go() throws {
            let destination = try FileDestination(
                name: "archive", options: options, ledger: ledger.path + "/archive", disk: disk, clock: clock,
                telemetry: Telemetry(sink: SilentLog(), now: { 0 }),
                syncer: syncsInBackground ? FileSyncer(name: "archive") : nil, bound: bound,
                commit: { [unowned self] in
                    try disk.step()
                    #expect($0.position >= taken.position)
                    taken = $0
                    durable = $0
                    try disk.step()
                })
            _ = try destination.open(from: taken)
            var position = taken.position
            var batches = 0
            while position < FileCrashTests.total {
                let end = min(position + 3, FileCrashTests.total)
                let settled = Mutex(false)
                let batch = makeBatch(
                    position..<end, at: { [clock] in clock.wallClock() + Int64($0) * 17_000_000_000 },
                    line: hasValues ? lineOfValue : line)
                withoutActuallyEscaping({ @Sendable (settlement: DeliveryClaim.Settlement) in
                    settled.withLock { $0 = settlement.isDelivered }
                }) { destination.deliver(batch, DeliveryClaim($0)) }
                guard settled.withLock({ $0 }) else { throw ProcessEnded() }
                position = end
                batches += 1
                if batches % 2 == 0 { taken = try destination.checkpoint(settled: position) ?? taken }
                if batches % 4 == 0 { durable = taken }
            }
            taken = Cursor(position: position, state: try destination.checkpoint() ?? [])
            durable = taken
        }
    }

    @Test(arguments: Scenario.allCases, Ending.allCases)
    func `each event is stored exactly once after a crash`(scenario: Scenario, ending: Ending) throws {
        try everyOperation(scenario, ending, syncsInBackground: false)
    }

    @Test(arguments: Scenario.allCases, Ending.allCases)
    func `background syncs also store each event exactly once`(scenario: Scenario, ending: Ending) throws {
        try everyOperation(scenario, ending, syncsInBackground: true)
    }

    private func everyOperation(_ scenario: Scenario, _ ending: Ending, syncsInBackground: Bool) throws {
        var end = 0
        var crashes = 0
        while true {
            let directory = try TemporaryDirectory()
            let ledger = try TemporaryDirectory()
            let options = scenario.options(directory.path)
            if scenario == .foreignFile { try directory.write("foreign\n", to: "events.ndjson") }
            let disk = FaultyDisk()
            disk.state.withLock { $0.endsAt = end }
            let first = Run(
                options, disk: disk, ledger: ledger, syncsInBackground: syncsInBackground, from: Cursor(position: 0))
            var hasEnded = false
            do { try first.go() } catch { hasEnded = true }
            var cursor = ending == .killed ? first.taken : first.durable
            if ending == .powerCut, hasEnded { try disk.cutPower() }

            // A second crash soon after the restart, then the remaining events.
            if hasEnded {
                let again = FaultyDisk()
                again.state.withLock { $0.endsAt = end % 5 }
                let second = Run(
                    options, disk: again, ledger: ledger, syncsInBackground: syncsInBackground, from: cursor)
                try? second.go()
                cursor = ending == .killed ? second.taken : second.durable
                if ending == .powerCut { try again.cutPower() }
                crashes += 1
            }
            try Run(options, disk: FaultyDisk(), ledger: ledger, from: cursor).go()

            var lines: [String] = []
            for file in directory.files {
                var found = try directory.lines(file)
                if scenario.isCSV, !found.isEmpty { #expect(found.removeFirst() == "t,n") }
                let numbers = found.compactMap { Self.number(of: $0) }
                #expect(numbers == numbers.sorted(), "\(file) is out of order after operation \(end)")
                lines += found
            }
            if scenario == .foreignFile {
                #expect(lines.first == "foreign")
                lines.removeFirst()
            }
            let numbers = lines.compactMap { Self.number(of: $0) }.sorted()
            try #require(numbers == Array(0..<Self.total), "wrong after operation \(end)")
            try #require(lines.count == numbers.count)
            guard hasEnded else { break }
            end += 1
        }
        #expect(crashes > 12)
    }

    private static func number(of line: String) -> UInt64? {
        // A CSV row.
        if let comma = line.firstIndex(of: ","), line.hasPrefix("t") {
            return UInt64(line[line.index(after: comma)...])
        }
        guard let start = line.range(of: #""n":"#), line.hasSuffix("}") else { return nil }
        return UInt64(line[start.upperBound...].dropLast())
    }

    @Test(arguments: [true, false])
    func `a write to a full disk is undone and retried when there is room`(foreign: Bool) throws {
        let directory = try TemporaryDirectory()
        if foreign { try directory.write("half", to: "events.ndjson") }
        let disk = FaultyDisk()
        let bench = try FileBench(FileDestinationOptions(path: directory.path + "/events.ndjson"), disk: disk)
        let before = foreign ? "half\n" : ""
        if !foreign { bench.deliver(0..<0) }
        disk.state.withLock {
            $0.fullBelow = directory.path
            $0.space = 70
        }
        guard case .all(.retry(let reason, _, _)) = bench.deliver(0..<3) else {
            Issue.record("not a retry")
            return
        }
        #expect(reason.contains("No space left"))
        #expect(directory.text("events.ndjson") == (foreign ? "half" : ""))
        disk.state.withLock { $0.space = .max }
        #expect(bench.deliver(0..<3)?.isDelivered == true)
        #expect(directory.text("events.ndjson") == before + (0..<3).map { line($0) + "\n" }.joined())
    }

    @Test func `a batch is settled in part when the second of its files cannot be written`() throws {
        let directory = try TemporaryDirectory()
        let disk = FaultyDisk()
        let bench = try FileBench(FileDestinationOptions(path: directory.path + "/%M.ndjson"), disk: disk)
        disk.state.withLock {
            $0.fullBelow = directory.path
            $0.space = 150
        }
        let base = bench.clock.wallClock()
        let settlement = bench.deliver(0..<4, at: { base + Int64($0 / 3) * 60_000_000_000 })
        guard case .each(let outcomes) = settlement else {
            Issue.record("not settled in part")
            return
        }
        #expect(outcomes.count == 4)
        #expect(outcomes.prefix(3) == [.delivered, .delivered, .delivered])
        guard case .retry = outcomes[3] else {
            Issue.record("not a retry")
            return
        }
        disk.state.withLock { $0.space = .max }
        bench.deliver(3..<4, at: { _ in base + 60_000_000_000 })
        #expect(try directory.lines("00.ndjson") == (0..<3).map(line))
        #expect(try directory.lines("01.ndjson") == [line(3)])
    }

    @Test(arguments: [false, true])
    func `a file whose fdatasync failed is reopened at the cursor`(inBackground: Bool) throws {
        let directory = try TemporaryDirectory()
        let disk = FaultyDisk()
        let bench = try FileBench(
            FileDestinationOptions(path: directory.path + "/events.ndjson"), disk: disk, syncsInBackground: inBackground
        )
        bench.deliver(0..<2)
        try bench.checkpoint(2)
        try bench.checkpoint(2)
        bench.deliver(2..<4)
        disk.state.withLock { $0.failsSync = true }
        if inBackground {
            // The sync has started. The next checkpoint reports its result.
            try bench.checkpoint(4)
            bench.deliver(4..<5)
        }
        #expect(throws: SystemError.self) { try bench.checkpoint(4) }
        #expect(bench.durable.position == 2)
        disk.state.withLock { $0.failsSync = false }
        #expect(throws: SystemError.self) { try bench.checkpoint(4) }
        guard case .all(.retry) = bench.deliver(4..<5) else {
            Issue.record("not a retry")
            return
        }
        bench.destination.close()
        _ = try bench.destination.open(from: bench.durable)
        bench.deliver(2..<5)
        #expect(try directory.lines("events.ndjson") == (0..<5).map(line))
    }

    @Test func `a background sync advances the cursor only after it has returned`() throws {
        let directory = try TemporaryDirectory()
        let bench = try FileBench(
            FileDestinationOptions(path: directory.path + "/events.ndjson", rotateSize: 200), syncsInBackground: true)
        bench.deliver(0..<2)
        try bench.checkpoint(2)
        #expect(bench.durable.position == 0)
        bench.deliver(2..<3)
        try bench.checkpoint(3)
        #expect(bench.durable.position == 2, "later events are not on disk yet")
        // A rotation advances the cursor further than the waiting sync.
        bench.deliver(3..<8)
        let rotated = bench.durable
        #expect(rotated.position > 2)
        try bench.checkpoint(8)
        #expect(bench.durable == rotated)
        try bench.checkpoint(8)
        #expect(bench.durable.position == 8)
        try bench.start()
        bench.deliver(8..<9)
        #expect(try directory.files.flatMap { try directory.lines($0) }.sorted() == (0..<9).map(line))
    }
}
