import Events
import Foundation
import Glibc
import Journal
import Platform
import Synchronization
import Telemetry
import Testing

/// The directory, clock and log of a journal. A test can open and stop the journal several times.
final class Rig: Sendable {
    struct Lines: LogSink {
        let lines = Shared<[String]>([])
        func write(_ level: Level, _ line: String) { lines.withLock { $0.append(line) } }
    }

    final class Shared<Value: Sendable>: Sendable {
        private let value: Mutex<Value>
        init(_ value: sending Value) { self.value = Mutex(value) }
        func withLock<Result>(_ body: (inout sending Value) -> sending Result) -> sending Result {
            value.withLock(body)
        }
    }

    /// A clock whose wall time a test sets. Waits use the real clock.
    final class WallClock: Clock {
        private let time = Atomic<Int64>(1_700_000_000_000_000_000)
        func now() -> Instant { SystemClock().now() }
        func wallClock() -> Int64 { time.load(ordering: .relaxed) }
        func set(_ nanoseconds: Int64) { time.store(nanoseconds, ordering: .relaxed) }
        func advance(_ duration: Duration) { time.add(duration.inNanoseconds, ordering: .relaxed) }
    }

    struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }
    }

    let directory: String
    let disk: any Disk
    let clock = WallClock()
    let log = Lines()
    let telemetry: Telemetry
    private let removesDirectory: Bool

    /// Makes a directory on the machine's filesystem.
    init() throws {
        let base = FileManager.default.temporaryDirectory.path()
        var template = Array("\(base)/journal-test-XXXXXX".utf8CString)
        let made = unsafe template.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return false }
            return unsafe mkdtemp(start) != nil
        }
        try #require(made, "no temporary directory")
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        disk = SystemDisk()
        telemetry = Telemetry(sink: log, minimum: .debug, now: { 0 })
        removesDirectory = true
    }

    init(_ memory: MemoryDisk) {
        directory = "/journal"
        disk = memory
        telemetry = Telemetry(sink: log, minimum: .debug, now: { 0 })
        removesDirectory = false
    }

    deinit {
        if removesDirectory { Self.removeAll(directory) }
    }

    private static func removeAll(_ path: String) {
        for name in (try? SystemDisk().list(path)) ?? [] {
            let inner = path + "/" + name
            if (try? SystemDisk().status(inner))??.isDirectory == true {
                removeAll(inner)
            } else {
                unsafe unlink(inner)
            }
        }
        unsafe rmdir(path)
    }

    static var small: JournalOptions {
        var options = JournalOptions()
        options.segmentSize = 64 << 10
        options.queueBytes = 256 << 10
        options.memoryBytes = 1 << 20
        options.retainSize = 64 << 20
        options.reserveBytes = 0
        options.cursorInterval = .milliseconds(20)
        return options
    }

    func open(
        _ options: JournalOptions = Rig.small, start: Bool = true, timings: JournalTimings? = nil,
        patience: Duration = .seconds(60)
    ) throws -> Journal {
        let journal = try openUnlocked(options, timings, patience)
        if start { journal.start() }
        return journal
    }

    /// A process that another test starts holds the lock of a journal for the moment between fork and exec.
    private func openUnlocked(
        _ options: JournalOptions, _ timings: JournalTimings?, _ patience: Duration
    ) throws -> Journal {
        let deadline = SystemClock().now() + patience
        while true {
            do throws(JournalError) {
                return try Journal.open(
                    directory: directory, options: options, disk: disk, clock: clock, telemetry: telemetry,
                    timings: timings, generator: Generator(state: 7))
            } catch {
                guard error.code == .locked, SystemClock().now() < deadline else { throw error }
                usleep(1000)
            }
        }
    }

    /// Copies the files as a kill leaves them, without the work that `stop` does.
    func killed(_ journal: Journal) throws -> Rig {
        let after = try Rig()
        // A file that is being made may get its name meanwhile.
        for name in try disk.list(directory) where name != "lock" && !name.hasSuffix(".new") {
            try FileManager.default.copyItem(atPath: path(name), toPath: after.path(name))
        }
        journal.stop()
        return after
    }

    func path(_ name: String) -> String { directory + "/" + name }

    var segmentNames: [String] { ((try? disk.list(directory)) ?? []).filter { $0.hasSuffix(".seg") }.sorted() }

    func bytes(_ path: String) throws -> [UInt8] {
        let file = try disk.open(path, .readOnly)
        var bytes: [UInt8] = []
        _ = try file.read(try file.size(), at: 0, appendingTo: &bytes)
        return bytes
    }

    func overwrite(_ path: String, _ bytes: [UInt8], at offset: Int = 0) throws {
        try disk.open(path, .readWrite).write(bytes.span, at: offset)
    }
}

let app = Origin(source: "app", uid: 1000, gid: 1001, pid: 42)

/// An event of at least `size` bytes that contains its number.
func event(_ number: Int, size: Int = 100) -> String {
    let head = "{\"type\":\"track\",\"event\":\"E\",\"userId\":\"u\",\"n\":\"\(number)"
    return head + String(repeating: "-", count: max(0, size - head.utf8.count - 2)) + "\"}"
}

func offer(
    _ journal: Journal, _ texts: [String], from origin: Origin = app, lane: LanePosition? = nil,
    wakesWriter: Bool = true
) -> JournalAppend {
    var bytes: [UInt8] = []
    var events: [ScannedEvent] = []
    for text in texts {
        let index = EventIndex(kind: .track, event: Slice(offset: 25, length: 1), userID: Slice(offset: 38, length: 1))
        events.append(
            ScannedEvent(
                offset: UInt32(bytes.count), length: UInt32(text.utf8.count), index: index, line: UInt32(events.count)))
        bytes += Array(text.utf8) + [10]
    }
    return journal.append(bytes.span, events: events.span, from: origin, lane: lane, wakesWriter: wakesWriter)
}

/// Appends events and waits until they are durable.
func append(
    _ journal: Journal, _ texts: [String], from origin: Origin = app, lane: LanePosition? = nil
) throws {
    guard case .queued(let end) = offer(journal, texts, from: origin, lane: lane) else {
        Issue.record("the events were not queued")
        return
    }
    try eventually { journal.durableEnd >= end }
}

func eventually(_ what: String = "the condition was not met in time", _ condition: () throws -> Bool) throws {
    let deadline = SystemClock().now() + .seconds(60)
    while try !condition() {
        try #require(SystemClock().now() < deadline, "\(what)")
        usleep(500)
    }
}

/// Reads all events from a position to the durable end.
func readAll(
    _ journal: Journal, from position: UInt64 = 0, maximumBytes: Int = 100_000
) throws -> [(position: UInt64, json: String)] {
    let reader = journal.makeReader(from: position)
    var batch = EventBatch()
    var found: [(position: UInt64, json: String)] = []
    while try reader.read(into: &batch, maximumBytes: maximumBytes) {
        for event in batch.events {
            found.append((event.position, String(decoding: batch.text(of: event), as: UTF8.self)))
        }
    }
    return found
}
