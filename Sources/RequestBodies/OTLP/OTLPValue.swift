import Events

/// A value of an attribute or of a body, an AnyValue. Strings, bytes and lists are ranges of the request's bytes.
enum OTLPValue {
    /// No value is set, or one of a kind that logs do not have.
    case none
    case string(Range<Int>)
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    /// An ArrayValue.
    case array(Range<Int>)
    /// A KeyValueList.
    case list(Range<Int>)
    case bytes(Range<Int>)

    /// Reads an AnyValue. If it has several values, the last one counts.
    init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(OTLPFault) {
        self = .none
        var reader = ProtobufReader(bytes, in: range)
        while let field = try reader.nextField() {
            switch (field.number, field.value) {
            case (1, .bytes(let range)): self = .string(range)
            case (2, .varint(let value)): self = .bool(value != 0)
            case (3, .varint(let value)): self = .integer(Int64(bitPattern: value))
            case (4, .fixed64(let bits)): self = .double(Double(bitPattern: bits))
            case (5, .bytes(let range)): self = .array(range)
            case (6, .bytes(let range)): self = .list(range)
            case (7, .bytes(let range)): self = .bytes(range)
            default: break
            }
        }
    }

    /// Appends the value as a JSON string, if it is a string or an integer and not empty.
    /// - Returns: whether it was appended.
    func appendText(of bytes: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        switch self {
        case .string(let range) where !range.isEmpty:
            JSONText.appendString(bytes.extracting(range), to: &output)
        case .integer(let value):
            output.append(UInt8(ascii: "\""))
            JSONDigits.append(value, to: &output)
            output.append(UInt8(ascii: "\""))
        default: return false
        }
        return true
    }
}
