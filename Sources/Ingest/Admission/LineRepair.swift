import Events

/// Repairs refused lines, one at a time. Belongs to the thread of its scanner.
///
/// - A repair changes only the bytes of the fault. The line is validated again after each repair.
/// - A line is repaired at most once for each kind of fault; one repair covers all faults of its kind. So the time is
///   linear in the line's length.
final class LineRepair {
    enum Outcome {
        /// `line` holds the event, at offset 0, and a line feed after it.
        case accepted(ScannedEvent, NormalisationCounts)
        /// The line has another fault, which cannot be repaired.
        case refused(Refusal)
    }

    /// More capacity than this is not kept for later lines.
    private static let keptCapacity = 64 << 10

    private let repairs: EventRepairs
    private let scanner: EventScanner
    private let ids = PathReader(
        PathSet(["userId", "anonymousId", "previousId", "groupId", "messageId"].map { FieldPath([$0]) }))
    private(set) var line: [UInt8] = []
    private var spare: [UInt8] = []
    private var accepted: [ScannedEvent] = []
    private var refused: [RefusedLine] = []

    init(_ repairs: EventRepairs, scanner: EventScanner) {
        self.repairs = repairs
        self.scanner = scanner
    }

    /// Whether `repair` may accept the line. A fast check.
    func mayRepair(_ line: RefusedLine) -> Bool {
        line.repairableFault.map { repairs.contains(EventRepairs($0)) } ?? false
    }

    /// - Parameter bytes: the buffer in which the line was scanned.
    /// - Returns: nil if the line cannot be repaired. Its refusal stands.
    func repair(_ refusedLine: RefusedLine, in bytes: Span<UInt8>) -> Outcome? {
        guard mayRepair(refusedLine), let fault = refusedLine.repairableFault, let json = refusedLine.json else {
            return nil
        }
        var text: [UInt8] = []
        swap(&text, &line)
        defer { swap(&text, &line) }
        if text.capacity + spare.capacity > Self.keptCapacity { (text, spare) = ([], []) }
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: bytes.extracting(json))
        return repair(&text, fault)
    }

    private func repair(_ text: inout [UInt8], _ first: RefusedLine.RepairableFault) -> Outcome? {
        guard correct(first, in: &text) else { return nil }
        var fault = first
        var counts = NormalisationCounts()
        var done = EventRepairs()
        while true {
            done.insert(EventRepairs(fault))
            counts[Normalisation(fault)] = 1
            text.append(UInt8(ascii: "\n"))
            let result = scan(text)
            if let event = accepted.first {
                counts.add(NormalisationCounts(result))
                return .accepted(event, counts)
            }
            guard let other = refused.first else { return nil }
            let refusal = other.refusal(in: text.span, by: scanner)
            guard mayRepair(other), let next = other.repairableFault, !done.contains(EventRepairs(next)) else {
                return .refused(refusal)
            }
            text.removeLast()
            guard correct(next, in: &text) else { return .refused(refusal) }
            fault = next
        }
    }

    private func scan(_ text: [UInt8]) -> ScanResult {
        accepted.removeAll(keepingCapacity: true)
        refused.removeAll(keepingCapacity: true)
        return scanner.scan(text.span, accepted: &accepted, refused: &refused)
    }

    /// Corrects all faults of one kind. Returns false if there is nothing to correct.
    private func correct(_ fault: RefusedLine.RepairableFault, in text: inout [UInt8]) -> Bool {
        spare.removeAll(keepingCapacity: true)
        switch fault {
        case .loneSurrogate: JSONText.appendReplacingLoneSurrogates(text.span, to: &spare)
        case .idNotString: guard quoteNumbers(of: text.span) else { return false }
        }
        swap(&text, &spare)
        return true
    }

    /// Appends an event to `spare`, with quotes around each number in the place of an id.
    private func quoteNumbers(of json: Span<UInt8>) -> Bool {
        guard ids.read(json) != .unreadable else { return false }
        var numbers: [Range<Int>] = []
        for path in 0..<5 where ids[path].type == .number { numbers.append(ids[path].slice.range) }
        guard !numbers.isEmpty else { return false }
        numbers.sort { $0.lowerBound < $1.lowerBound }
        var copied = 0
        for number in numbers {
            spare.append(contentsOf: json.extracting(copied..<number.lowerBound))
            spare.append(UInt8(ascii: "\""))
            spare.append(contentsOf: json.extracting(number))
            spare.append(UInt8(ascii: "\""))
            copied = number.upperBound
        }
        spare.append(contentsOf: json.extracting(copied...))
        return true
    }
}
