import Events

/// A scanned slice whose stored form differs from what the client sent. The rewritten bytes were validated again.
struct RewrittenSlice {
    /// One event per line.
    var bytes: [UInt8] = []
    var accepted: [ScannedEvent] = []
    var refused: [RefusedLine] = []

    /// - Parameters:
    ///   - bytes: the buffer that was scanned.
    ///   - accepted: the events in it. Events refused here are reported with their line numbers.
    ///   - rewrite: receives the JSON of each event. It appends the form to store, without a line feed, or returns a
    ///     refusal.
    init(
        _ bytes: Span<UInt8>, _ accepted: [ScannedEvent], _ scanner: EventScanner,
        rewrite: (Span<UInt8>, EventIndex, inout [UInt8]) -> Refusal?
    ) {
        var lines: [UInt32] = []
        for event in accepted {
            let start = self.bytes.count
            let json = bytes.extracting(Int(event.offset)..<Int(event.offset) + Int(event.length))
            if let refusal = rewrite(json, event.index, &self.bytes) {
                self.bytes.removeLast(self.bytes.count - start)
                refuse(event.line, refusal)
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
        refused.append(RefusedLine(line: Int(line), refusal: refusal))
    }
}
