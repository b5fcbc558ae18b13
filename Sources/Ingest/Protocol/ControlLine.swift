import Events

/// The first line of a client that wants answers: `{"penstock":{"acks":true}}`.
enum ControlLine: Equatable {
    /// Not a control line: an event, or a line to refuse as one.
    case none
    case acks(Bool)
    case malformed(detail: String)

    private static let paths = PathSet([FieldPath(["penstock"]), FieldPath(["penstock", "acks"])])
    private static let prefix: [UInt8] = Array("{\"penstock\"".utf8)

    /// - Parameter line: with or without its line feed.
    init(_ line: Span<UInt8>) {
        var at = 0
        var matched = 0
        // The first key distinguishes a control line from an event. White space is ignored.
        while at < line.count, matched < Self.prefix.count {
            let byte = line[at]
            at += 1
            if byte == Self.prefix[matched] {
                matched += 1
            } else if byte != UInt8(ascii: " ") && byte != UInt8(ascii: "\t") {
                break
            }
        }
        guard matched == Self.prefix.count else {
            self = .none
            return
        }
        let values = PathReader(Self.paths)
        guard values.read(line) != .unreadable else {
            self = .malformed(detail: "the control line is not valid JSON; send {\"penstock\":{\"acks\":true}}")
            return
        }
        switch (values[0].type, values[1].type) {
        case (.object, .true): self = .acks(true)
        case (.object, .false), (.object, .missing): self = .acks(false)
        default:
            self = .malformed(
                detail: "the control line must be {\"penstock\":{\"acks\":true}} or {\"penstock\":{\"acks\":false}}")
        }
    }
}
