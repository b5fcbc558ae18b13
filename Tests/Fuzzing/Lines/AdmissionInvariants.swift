import Events
import Ingest
import Platform

/// What holds when any bytes pass through admission, with repairs, an inspector and a scrubber.
enum AdmissionInvariants {
    /// Above libFuzzer's longest input, so that only the number of lines depends on where the input is cut.
    private static let limits = SourceLimits(
        maximumEventSize: 1 << 20, maximumDepth: ScannerInvariants.maximumDepth, maximumConnections: 1,
        maximumUnreadAnswers: 1 << 30, maximumConsecutiveRefusals: 1 << 30, repairs: [.numericIDs, .loneSurrogates])

    private nonisolated(unsafe) static let strict = EventScanner(
        maximumEventSize: limits.maximumEventSize, maximumDepth: limits.maximumDepth)

    private nonisolated(unsafe) static let plain = EventStore { admission($0) }
    private nonisolated(unsafe) static let cut = EventStore { admission($0) }
    private nonisolated(unsafe) static let rewritten = EventStore {
        admission($0, inspector: EveryInspection(), scrubber: CopyingScrubber())
    }

    private static func admission(
        _ appender: any EventAppender, inspector: (any EventInspector)? = nil, scrubber: (any EventScrubber)? = nil
    ) -> EventAdmission {
        EventAdmission(
            limits: limits, appender: appender, statistics: SourceStatistics(), clock: SystemClock(),
            inspector: inspector, scrubber: scrubber)
    }

    static func check(_ bytes: [UInt8]) {
        checkRepairs(bytes)
        let whole = unsafe plain.store(bytes, by: bytes.count)
        for event in whole { checkValid(event) }
        let size = 1 + Int(bytes.first ?? 0) % 64
        require(unsafe cut.store(bytes, by: size) == whole, "the input in parts of \(size) bytes has other events")
        let events = unsafe rewritten.store(bytes, by: bytes.count)
        for event in events { checkValid(event) }
        require(events.count <= whole.count, "rewriting adds events")
    }

    private static func checkValid(_ json: [UInt8]) {
        var (accepted, refused) = ([ScannedEvent](), [RefusedLine]())
        _ = unsafe strict.scan((json + [10]).span, accepted: &accepted, refused: &refused)
        require(accepted.count == 1 && refused.isEmpty, "a stored event is not valid")
        require(Int(accepted[0].length) == json.count, "a stored event has white space around it")
    }

    /// A repair changes only the bytes of the fault.
    private static func checkRepairs(_ bytes: [UInt8]) {
        var (accepted, refused) = ([ScannedEvent](), [RefusedLine]())
        _ = unsafe strict.scan(bytes.span, accepted: &accepted, refused: &refused)
        let slice = unsafe RepairedSlice(
            bytes.span, accepted: accepted, refused: refused, repairs: limits.repairs, scanner: strict)
        let lines = (slice.accepted.map { Int($0.line) } + slice.refused.map(\.line)).sorted()
        require(lines == (accepted.map { Int($0.line) } + refused.map(\.line)).sorted(), "repairing loses lines")
        require(slice.accepted.map(\.line) == slice.accepted.map(\.line).sorted(), "events out of order")
        guard let stored = slice.bytes else {
            require(slice.accepted.count == accepted.count, "repairing loses events")
            return
        }
        let text = bytes.split(separator: 10, omittingEmptySubsequences: false)
        for event in slice.accepted {
            let json = stored[Int(event.offset)..<Int(event.offset) + Int(event.length)]
            require(differsOnlyByRepairs(text[Int(event.line)], json), "a repair changed other bytes")
            checkValid(Array(json))
        }
    }

    private static func differsOnlyByRepairs(_ line: ArraySlice<UInt8>, _ stored: ArraySlice<UInt8>) -> Bool {
        let isSpace = { (byte: UInt8) in [9, 13, 32].contains(byte) }
        var line = line.drop(while: isSpace)
        var stored = stored
        var quotes = 0
        while let byte = stored.first {
            if byte == line.first {
                (line, stored) = (line.dropFirst(), stored.dropFirst())
            } else if stored.starts(with: Array("ufffd".utf8)), line.first == UInt8(ascii: "u") {
                (line, stored) = (line.dropFirst(5), stored.dropFirst(5))
            } else if stored.starts(with: Array("fffd".utf8)),
                [UInt8(ascii: "d"), UInt8(ascii: "D")].contains(line.first)
            {
                (line, stored) = (line.dropFirst(4), stored.dropFirst(4))
            } else if byte == UInt8(ascii: "\"") {
                quotes += 1
                stored = stored.dropFirst()
            } else {
                return false
            }
        }
        return line.allSatisfy(isSpace) && quotes % 2 == 0 && quotes <= 10
    }
}
