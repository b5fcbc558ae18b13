import Events

/// A scanned slice in which refused lines were repaired. The repaired lines were validated again; the others are
/// copied.
package struct RepairedSlice {
    /// One event per line; nil if no line could be repaired, and then `accepted` refers to the scanned buffer.
    package private(set) var bytes: [UInt8]?
    package private(set) var accepted: [ScannedEvent] = []
    /// The lines that stay refused.
    package private(set) var refused: [RefusedLine] = []
    package private(set) var counts: NormalisationCounts = [:]

    /// Repairs what it can of one scan's results.
    /// - Parameters:
    ///   - bytes: the buffer that was scanned.
    ///   - accepted, refused: the results, each in the order of the lines.
    package init(
        _ bytes: Span<UInt8>, accepted: [ScannedEvent], refused: [RefusedLine], repairs: EventRepairs,
        scanner: EventScanner
    ) {
        self.init(bytes, accepted: accepted, refused: refused, by: LineRepair(repairs, scanner: scanner))
    }

    init(_ bytes: Span<UInt8>, accepted: [ScannedEvent], refused: [RefusedLine], by repair: LineRepair) {
        var output: [UInt8] = []
        /// How many of the accepted events are in `output`.
        var copied = 0
        for line in refused {
            switch repair.repair(line, in: bytes) {
            case nil: self.refused.append(line)
            case .refused(let refusal): self.refused.append(RefusedLine(line: line.line, refusal: refusal))
            case .accepted(var event, let counts):
                while copied < accepted.count, Int(accepted[copied].line) < line.line {
                    append(accepted[copied], of: bytes, to: &output)
                    copied += 1
                }
                event.line = UInt32(truncatingIfNeeded: line.line)
                let repaired = repair.line
                append(event, of: repaired.span, to: &output)
                self.counts.add(counts)
            }
        }
        guard !self.accepted.isEmpty else {
            self.accepted = accepted
            return
        }
        for event in accepted[copied...] { append(event, of: bytes, to: &output) }
        self.bytes = output
    }

    private mutating func append(_ event: ScannedEvent, of bytes: Span<UInt8>, to output: inout [UInt8]) {
        var moved = event
        moved.offset = UInt32(truncatingIfNeeded: output.count)
        let start = Int(event.offset)
        output.append(contentsOf: bytes.extracting(start..<start + Int(event.length)))
        output.append(UInt8(ascii: "\n"))
        accepted.append(moved)
    }
}
