import Events

/// What holds for every scan of any bytes.
enum ScannerInvariants {
    /// Small, so that inputs reach them.
    static let maximumEventSize = 512
    static let maximumDepth = 8

    private nonisolated(unsafe) static let scanner = EventScanner(
        maximumEventSize: maximumEventSize, maximumDepth: maximumDepth)
    private nonisolated(unsafe) static let reader = PathReader(
        PathSet(
            [["userId"], ["context", "traits"], ["properties", "products", "0", "sku"], ["a", "", "1"]].map(
                FieldPath.init)))

    static func check(_ bytes: [UInt8]) {
        var accepted: [ScannedEvent] = []
        var refused: [RefusedLine] = []
        let result = unsafe scanner.scan(bytes.span, accepted: &accepted, refused: &refused)

        let lines = bytes.split(separator: 10, omittingEmptySubsequences: false).dropLast()
        require(result.lines == lines.count, "\(result.lines) lines of \(lines.count)")
        require(result.consumed == lines.reduce(0) { $0 + $1.count + 1 }, "\(result.consumed) bytes were consumed")
        let numbers = (accepted.map { Int($0.line) } + refused.map(\.line)).sorted()
        let expected = lines.indices.filter { !lines[$0].allSatisfy { [9, 13, 32].contains($0) } }
        require(numbers == Array(expected), "lines \(numbers) instead of \(Array(expected))")
        require(result.emptyIDs <= accepted.count && result.contextTraits <= accepted.count, "counts")

        for event in accepted { check(event, in: bytes, lines[Int(event.line)]) }
        for line in refused { checkAlone(line, lines[line.line]) }
        for line in refused {
            let refusal = unsafe line.refusal(in: bytes.span, by: scanner)
            require(refusal.reason == line.reason && !refusal.detail.isEmpty, "\(refusal)")
            require(refusal.detail.utf8.count < 400, "a detail of \(refusal.detail.utf8.count) bytes")
        }
        checkPaths(bytes, isEvent: false)
    }

    private static func check(_ event: ScannedEvent, in bytes: [UInt8], _ line: ArraySlice<UInt8>) {
        let range = Int(event.offset)..<Int(event.offset) + Int(event.length)
        require(range.lowerBound >= line.startIndex && range.upperBound <= line.endIndex, "an event beyond its line")
        require(range.count <= maximumEventSize, "an event of \(range.count) bytes")
        let json = Array(bytes[range])
        require(json.first == UInt8(ascii: "{") && json.last == UInt8(ascii: "}"), "an event that is no object")
        require(JSONText.text(json.span) != nil, "an event that is not UTF-8")
        for slice in [event.index.event, event.index.messageID, event.index.userID, event.index.anonymousID]
        where slice.isPresent {
            let contents = slice.range
            require(contents.lowerBound > 0 && contents.upperBound < json.count, "a slice beyond its event")
            let quotes = [json[contents.lowerBound - 1], json[contents.upperBound]]
            require(quotes == [34, 34], "a slice without quotes")
            require(JSONText.string(json.span.extracting(contents)) != nil, "a slice that cannot be decoded")
        }
        require(
            [event.index.userID, event.index.anonymousID].allSatisfy { !$0.isPresent || $0.length > 0 }, "an empty id")

        var (again, refused) = ([ScannedEvent](), [RefusedLine]())
        _ = unsafe scanner.scan((json + [10]).span, accepted: &again, refused: &refused)
        require(again.count == 1 && refused.isEmpty, "an accepted event is refused alone")
        require(again[0].index == event.index && again[0].length == event.length, "an event has another index alone")
        checkPaths(json, isEvent: true)
    }

    private static func checkAlone(_ line: RefusedLine, _ text: ArraySlice<UInt8>) {
        var (accepted, refused) = ([ScannedEvent](), [RefusedLine]())
        let alone = Array(text) + [10]
        _ = unsafe scanner.scan(alone.span, accepted: &accepted, refused: &refused)
        require(accepted.isEmpty && refused.first?.reason == line.reason, "a refused line has another answer alone")
    }

    /// Reading paths from any bytes gives values within them; an event is always readable.
    private static func checkPaths(_ json: [UInt8], isEvent: Bool) {
        let answer = unsafe reader.read(json.span)
        require(!isEvent || answer != .unreadable, "an event is unreadable")
        for path in 0..<4 {
            let value = unsafe reader[path]
            guard let range = value.json else { continue }
            require(range.lowerBound >= 0 && range.upperBound <= json.count, "a value beyond its bytes")
        }
    }
}
