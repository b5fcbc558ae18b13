import Events
import Glibc
import Journal
import Platform
import Telemetry

/// The events that were given to a journal, and their places according to the description of the format. It does not
/// use the code that reads journals, which is tested against it.
package struct Ledger: Sendable {
    package struct Batch: Sendable {
        package var segment: UInt64
        /// The range in the segment from the header to the end of the payload, without the padding.
        package var bytes: Range<Int>
        package var positions: Range<UInt64>
    }

    package static let segmentSize = 64 << 10
    package static let directory = "/journal"

    package private(set) var batches: [Batch] = []
    /// The events, by position.
    package private(set) var events: [[UInt8]] = []
    /// The positions of the first write.
    package private(set) var firstCommit: Range<UInt64> = 0..<0
    private var segment: UInt64 = 0
    private var offset = 0

    package init() {}

    package var end: UInt64 { UInt64(events.count) }
    package var segments: [UInt64] { Set(batches.map(\.segment)).sorted() }

    package static var options: JournalOptions {
        var options = JournalOptions()
        options.segmentSize = segmentSize
        options.queueBytes = 256 << 10
        options.memoryBytes = 1 << 20
        options.cursorInterval = .seconds(1_000_000)
        options.reserveBytes = 0
        return options
    }

    package static func path(_ segment: UInt64) -> String {
        let digits = String(segment)
        return directory + "/" + String(repeating: "0", count: 20 - digits.count) + digits + ".seg"
    }

    /// Queues one batch. Consecutive batches have different sources, so that the journal cannot merge them.
    package mutating func offer(_ count: Int, size: Int, to journal: Journal) {
        let source = batches.count % 2 == 0 ? "app" : "application"
        var bytes: [UInt8] = []
        var scanned: [ScannedEvent] = []
        var length = 64 + (source.utf8.count + 7) / 8 * 8
        let first = end
        for number in 0..<count {
            let start = bytes.count
            let text = "{\"type\":\"track\",\"n\":\"\(end) "
            bytes +=
                Array(text.utf8) + repeatElement(UInt8(ascii: "-"), count: max(0, size + number - text.utf8.count - 2))
            bytes += Array("\"}".utf8)
            let json = Array(bytes[start...])
            scanned.append(
                ScannedEvent(offset: UInt32(start), length: UInt32(json.count), index: EventIndex(kind: .track)))
            events.append(json)
            length += 40 + (json.count + 7) / 8 * 8
        }
        if offset + length > Self.segmentSize - 128 {
            segment = first
            offset = 0
        }
        // The last record's padding is part of the payload.
        batches.append(Batch(segment: segment, bytes: offset..<offset + length, positions: first..<end))
        offset += length
        let origin = Origin(source: source, uid: 1000, gid: 1000, pid: 7)
        let outcome = journal.append(bytes.span, events: scanned.span, from: origin)
        precondition(outcome == .queued(end: end), "the journal did not accept the batch: \(outcome)")
    }

    package func awaitDurable(_ journal: Journal) {
        var polls = 0
        while journal.durableEnd < end, polls < 3_000_000 {
            usleep(20)
            polls += 1
        }
        precondition(journal.durableEnd >= end, "the journal does not write")
    }

    /// Fills this many segments; the last one only almost.
    package static func fill(_ count: Int, _ disk: DiskImage) throws(JournalError) -> (ledger: Ledger, journal: Journal)
    {
        var ledger = Ledger()
        let journal = try open(disk)
        // One write with several batches, then one write for each batch.
        for number in 0..<5 { ledger.offer(1 + number % 3, size: 150 + 90 * number, to: journal) }
        ledger.firstCommit = 0..<ledger.end
        journal.start()
        ledger.awaitDurable(journal)
        while ledger.segments.count < count || ledger.offset < segmentSize - 9000 {
            let number = ledger.batches.count
            ledger.offer(1 + number % 4, size: 40 + number * 37 % 900, to: journal)
            ledger.awaitDurable(journal)
        }
        return (ledger, journal)
    }

    package static func open(_ disk: DiskImage) throws(JournalError) -> Journal {
        struct Silence: LogSink { func write(_ level: Level, _ line: String) {} }
        return try Journal.open(
            directory: directory, options: options, disk: disk, clock: SystemClock(),
            telemetry: Telemetry(sink: Silence(), now: { 0 }))
    }
}
