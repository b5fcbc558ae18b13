import CZlib
import CZstd
import Delivery
import Events
import Foundation
import Platform
import Synchronization
import Telemetry

@testable import Destinations

/// A directory for one test. It is removed with this object.
final class TemporaryDirectory {
    let path: String
    init() throws {
        let base = FileManager.default.temporaryDirectory.path
        path = "\(base)/penstock-file-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The paths of all files in the directory, relative to it, sorted.
    var files: [String] {
        let all = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return all.filter { (try? SystemDisk().status(path + "/" + $0))??.isDirectory == false }.sorted()
    }

    func text(_ name: String) -> String { String(decoding: bytes(name), as: UTF8.self) }
    func bytes(_ name: String) -> [UInt8] {
        FileManager.default.contents(atPath: path + "/" + name).map { Array($0) } ?? []
    }
    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path + "/" + name))
    }

    /// The file's lines, decompressed according to its extension.
    func lines(_ name: String) throws -> [String] {
        var bytes = bytes(name)
        if name.hasSuffix(".gz") { bytes = try gunzip(bytes) }
        if name.hasSuffix(".zst") { bytes = try unzstd(bytes) }
        guard bytes.isEmpty || bytes.last == UInt8(ascii: "\n") else {
            throw Unreadable(what: "\(name): last line is not whole")
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .dropLast().map(String.init)
    }
}

struct Unreadable: Error { var what: String }

/// Decompresses all members of a gzip file.
func gunzip(_ bytes: [UInt8]) throws -> [UInt8] {
    var output: [UInt8] = []
    var input = bytes
    var stream = unsafe z_stream()
    unsafe inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    defer { unsafe _ = inflateEnd(&stream) }
    var failed = false
    let count = input.count
    unsafe input.withUnsafeMutableBufferPointer { buffer in
        unsafe stream.next_in = buffer.baseAddress
        unsafe stream.avail_in = UInt32(count)
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while unsafe stream.avail_in > 0, !failed {
            var code = Z_OK
            unsafe chunk.withUnsafeMutableBufferPointer { out in
                unsafe stream.next_out = out.baseAddress
                unsafe stream.avail_out = 65_536
                code = unsafe inflate(&stream, Z_NO_FLUSH)
            }
            output += chunk.prefix(65_536 - Int(unsafe stream.avail_out))
            if code == Z_STREAM_END { unsafe inflateReset(&stream) } else if code != Z_OK { failed = true }
            if code == Z_OK, unsafe stream.avail_in == 0, unsafe stream.avail_out > 0 { failed = true }
        }
    }
    if failed { throw Unreadable(what: "not whole gzip members") }
    return output
}

/// Decompresses all frames of a zstd file.
func unzstd(_ bytes: [UInt8]) throws -> [UInt8] {
    var output = [UInt8](repeating: 0, count: 4 << 20)
    let capacity = output.count
    let count = unsafe output.withUnsafeMutableBufferPointer { out in
        unsafe bytes.withUnsafeBufferPointer {
            unsafe ZSTD_decompress(out.baseAddress, capacity, $0.baseAddress, $0.count)
        }
    }
    guard ZSTD_isError(count) == 0 else { throw Unreadable(what: "not whole zstd frames") }
    return Array(output.prefix(count))
}

final class FakeClock: Clock {
    private let time = Atomic<Int64>(5_000_000_000)
    func now() -> Instant { Instant(nanoseconds: time.load(ordering: .relaxed)) }
    // 2026-01-31T12:00:00Z plus the time that has passed since.
    func wallClock() -> Int64 { 1_769_860_800_000_000_000 + time.load(ordering: .relaxed) - 5_000_000_000 }
    func advance(_ duration: Duration) { time.wrappingAdd(duration.inNanoseconds, ordering: .relaxed) }
}

struct SilentLog: LogSink {
    func write(_ level: Level, _ line: String) {}
}

/// A file destination with its own cursor store.
final class FileBench {
    let clock = FakeClock()
    let telemetry: Telemetry
    let options: FileDestinationOptions
    let disk: any Disk
    /// The cursor that a crash would leave.
    private(set) var durable: Cursor
    private(set) var commits = 0
    var commitError: (any Error)?
    private(set) var destination: FileDestination!

    private let syncsInBackground: Bool
    private let bound: (any PositionBound)?
    let ledger: TemporaryDirectory

    init(
        _ options: FileDestinationOptions, disk: any Disk = SystemDisk(), ledger: TemporaryDirectory? = nil,
        syncsInBackground: Bool = false, bound: (any PositionBound)? = nil,
        from cursor: Cursor = Cursor(position: 0)
    ) throws {
        durable = cursor
        self.options = options
        self.ledger = try ledger ?? TemporaryDirectory()
        self.syncsInBackground = syncsInBackground
        self.bound = bound
        self.disk = disk
        telemetry = Telemetry(sink: SilentLog(), now: { 0 })
        try start()
    }

    /// Puts back an older cursor, and opens the destination again.
    func restore(_ cursor: Cursor) throws {
        durable = cursor
        try start()
    }

    /// Reopens the destination with the durable cursor, as after a crash.
    func start() throws {
        destination = try FileDestination(
            name: "archive", options: options, ledger: ledger.path + "/archive", disk: disk, clock: clock,
            telemetry: telemetry,
            syncer: syncsInBackground ? FileSyncer(name: "archive") : nil, bound: bound,
            commit: { [unowned self] in
                if let commitError { throw commitError }
                durable = $0
                commits += 1
            })
        _ = try destination.open(from: durable)
    }

    /// Offers events with these numbers, received now unless `time` names another time.
    @discardableResult
    func deliver(_ numbers: Range<UInt64>, at time: ((UInt64) -> Int64)? = nil) -> DeliveryClaim.Settlement? {
        deliver(makeBatch(numbers, at: time ?? { [clock] _ in clock.wallClock() }))
    }

    @discardableResult
    func deliver(_ batch: OutboundBatch) -> DeliveryClaim.Settlement? {
        let box = Mutex<DeliveryClaim.Settlement?>(nil)
        withoutActuallyEscaping({ @Sendable (settlement: DeliveryClaim.Settlement) in
            box.withLock { $0 = settlement }
        }) { answer in
            destination.deliver(batch, DeliveryClaim(answer))
        }
        return box.withLock { $0 }
    }

    /// Checkpoints as the worker does at its interval.
    func checkpoint(_ position: UInt64) throws {
        durable = try destination.checkpoint(settled: position) ?? durable
    }
}

func line(_ number: UInt64) -> String { #"{"type":"track","event":"Viewed","n":\#(number)}"# }
/// As `line`, with one of three values for a path template.
func lineOfValue(_ number: UInt64) -> String { #"{"t":"t\#(number * 7 % 3)","n":\#(number)}"# }

func makeBatch(
    _ numbers: Range<UInt64>, at time: (UInt64) -> Int64, line: (UInt64) -> String = line
) -> OutboundBatch {
    var batch = OutboundBatch()
    for number in numbers {
        let start = batch.payload.count
        batch.payload += Array(line(number).utf8)
        batch.events.append(
            OutboundEvent(
                position: number, receivedAt: time(number), kind: .track, payload: start..<batch.payload.count,
                messageID: 0..<0))
        batch.payload.append(UInt8(ascii: "\n"))
    }
    return batch
}
