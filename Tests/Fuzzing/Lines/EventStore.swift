import Events
import Ingest
import Synchronization

/// A journal in memory with the stream of one client before it.
final class EventStore {
    private final class Appender: EventAppender {
        let events = Mutex<[[UInt8]]>([])

        func append(
            _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
        ) -> AppendOutcome {
            var copies: [[UInt8]] = []
            for index in events.indices {
                let start = Int(events[index].offset)
                var copy: [UInt8] = []
                copy.append(contentsOf: bytes.extracting(start..<start + Int(events[index].length)))
                copies.append(copy)
            }
            return self.events.withLock {
                $0 += copies
                return .queued(end: UInt64($0.count))
            }
        }

        var durableEnd: UInt64 { events.withLock { UInt64($0.count) } }
    }

    private let appender = Appender()
    private let admission: EventAdmission

    init(_ makeAdmission: (any EventAppender) -> EventAdmission) {
        admission = makeAdmission(appender)
    }

    /// Sends the bytes in parts of this size, as a client that connects and then ends. Returns the stored events.
    func store(_ bytes: [UInt8], by size: Int) -> [[UInt8]] {
        appender.events.withLock { $0 = [] }
        let stream = NDJSONStream(origin: Origin(source: "fuzz", uid: 1, gid: 1, pid: 1))
        for start in stride(from: 0, to: bytes.count, by: max(size, 1)) {
            let part = bytes.span.extracting(start..<min(start + size, bytes.count))
            require(
                stream.take(part, through: admission, answerLimit: .max) == part.count, "the stream leaves bytes behind"
            )
        }
        stream.finish(through: admission)
        return appender.events.withLock { $0 }
    }
}

/// Reports every kind of inspection in turn.
final class EveryInspection: EventInspector {
    private var count = 0
    private var copy: [UInt8] = []

    func begin() -> Bool {
        count = 0
        return true
    }

    func inspect(_ json: Span<UInt8>, _ index: EventIndex) -> Inspection {
        count += 1
        copy.removeAll(keepingCapacity: true)
        copy.append(contentsOf: json)
        return switch count % 4 {
        case 0: .refused(Refusal(reason: .unplanned, detail: "every fourth event"))
        case 1: .noted(.unplanned)
        case 2: .rewritten(.schemaViolation)
        default: .passes
        }
    }

    func appendRewritten(to output: inout [UInt8]) { output += copy }
}

/// Copies each event, except those that begin with a space after the brace.
final class CopyingScrubber: EventScrubber {
    func scrub(_ json: Span<UInt8>, _ index: EventIndex, into output: inout [UInt8]) -> String? {
        if json[1] == UInt8(ascii: " ") { return "it begins with a space" }
        output.append(contentsOf: json)
        return nil
    }
}
