import Events

/// The result of scanning some text.
struct Scan {
    var bytes: [UInt8]
    var accepted: [ScannedEvent] = []
    var refused: [ScannedRefusal] = []
    var result: ScanResult

    init(_ bytes: [UInt8], maximumEventSize: Int = 32 << 10, maximumDepth: Int = 64) {
        let scanner = EventScanner(maximumEventSize: maximumEventSize, maximumDepth: maximumDepth)
        self.bytes = bytes
        result = scanner.scan(bytes.span, accepted: &accepted, refused: &refused)
    }

    init(_ text: String, maximumEventSize: Int = 32 << 10, maximumDepth: Int = 64) {
        self.init(Array(text.utf8), maximumEventSize: maximumEventSize, maximumDepth: maximumDepth)
    }

    /// The reason why the line is refused. nil: it is accepted or skipped.
    static func reason(_ line: String) -> RefusalReason? { Scan(line + "\n").refused.first?.refusal.reason }
    static func detail(_ line: String) -> String? { Scan(line + "\n").refused.first?.refusal.detail }

    func text(_ event: ScannedEvent) -> String {
        let start = Int(event.offset)
        return String(decoding: bytes[start..<start + Int(event.length)], as: UTF8.self)
    }

    func text(_ slice: Slice, of event: ScannedEvent) -> String? {
        guard slice.isPresent else { return nil }
        let start = Int(event.offset) + slice.range.lowerBound
        return String(decoding: bytes[start..<start + slice.range.count], as: UTF8.self)
    }
}
