import Events

/// Takes out of an event what must not even be stored (`scrub:`). Made for each event loop, and used on
/// it alone.
package protocol EventScrubber: AnyObject {
    /// Appends the event without it to `output`: JSON on one line, no line feed.
    /// - Returns: why the event cannot be scrubbed, and is to be refused; nil: it was appended.
    func scrub(_ json: Span<UInt8>, _ index: EventIndex, into output: inout [UInt8]) -> String?
}

/// A scanned slice after scrubbing: other bytes, which went through the door again.
struct ScrubbedSlice {
    /// One event a line.
    var bytes: [UInt8] = []
    var accepted: [ScannedEvent] = []
    var refused: [ScannedRefusal] = []

    /// - Parameters:
    ///   - bytes: what was scanned.
    ///   - accepted: the events in it. Those that are refused now are told with their lines.
    init(_ bytes: Span<UInt8>, _ accepted: [ScannedEvent], _ scrubber: any EventScrubber, _ scanner: EventScanner) {
        var lines: [UInt32] = []
        for event in accepted {
            let start = self.bytes.count
            let json = bytes.extracting(Int(event.offset)..<Int(event.offset) + Int(event.length))
            if let reason = scrubber.scrub(json, event.index, into: &self.bytes) {
                self.bytes.removeLast(self.bytes.count - start)
                refuse(event.line, Refusal(reason: .notAllowed, detail: "scrub: \(reason)"))
                continue
            }
            self.bytes.append(0x0A)
            lines.append(event.line)
        }
        var passed: [ScannedEvent] = []
        var problems: [ScannedRefusal] = []
        _ = scanner.scan(self.bytes.span, accepted: &passed, refused: &problems)
        for i in passed.indices { passed[i].line = lines[Int(passed[i].line)] }
        self.accepted = passed
        for problem in problems { refuse(lines[Int(problem.line)], problem.refusal) }
    }

    private mutating func refuse(_ line: UInt32, _ refusal: Refusal) {
        refused.append(ScannedRefusal(line: Int(line), refusal: refusal))
    }
}
