import Events

/// Writes values and attributes as JSON. Keeps memory for the attributes of the lists that it is writing.
struct OTLPValueWriter {
    /// Protobuf's own libraries read at most 100 nested messages, and a list takes three of them. The bound keeps
    /// recursion small if a source allows deeper events.
    private static let deepest = 128

    /// Levels of nesting of an event.
    let maximumDepth: Int
    /// The attributes of all lists that are being written, the innermost list last.
    private var attributes: [OTLPAttribute] = []

    init(maximumDepth: Int) { self.maximumDepth = Self.depth(within: maximumDepth) }

    /// The depth to which values are read.
    static func depth(within maximumDepth: Int) -> Int { min(maximumDepth, deepest) }

    /// - Parameter depth: how many objects and lists of the event contain the value.
    mutating func append(
        _ value: OTLPValue, of bytes: Span<UInt8>, depth: Int, to output: inout [UInt8]
    ) throws(OTLPFault) {
        switch value {
        case .none: output += "null".utf8
        case .string(let range): JSONText.appendString(bytes.extracting(range), to: &output)
        case .bool(let value): output += (value ? "true" : "false").utf8
        case .integer(let value): JSONDigits.append(value, to: &output)
        case .double(let value): JSONDigits.append(value, to: &output)
        case .bytes(let range):
            output.append(UInt8(ascii: "\""))
            Base64.append(bytes.extracting(range), to: &output)
            output.append(UInt8(ascii: "\""))
        case .array(let range): try appendArray(bytes, range, depth: depth + 1, to: &output)
        case .list(let range): try appendList(bytes, range, depth: depth + 1, to: &output)
        }
    }

    /// Appends `"key":value,` for an attribute.
    mutating func appendMember(
        _ attribute: OTLPAttribute, of bytes: Span<UInt8>, depth: Int, to output: inout [UInt8]
    ) throws(OTLPFault) {
        JSONText.appendString(bytes.extracting(attribute.key), to: &output)
        output.append(UInt8(ascii: ":"))
        try append(Self.value(of: attribute, bytes), of: bytes, depth: depth, to: &output)
        output.append(UInt8(ascii: ","))
    }

    /// The value of an attribute.
    static func value(of attribute: OTLPAttribute, _ bytes: Span<UInt8>) throws(OTLPFault) -> OTLPValue {
        guard let range = attribute.value else { return .none }
        return try OTLPValue(bytes, range)
    }

    private mutating func appendArray(
        _ bytes: Span<UInt8>, _ range: Range<Int>, depth: Int, to output: inout [UInt8]
    ) throws(OTLPFault) {
        guard depth <= maximumDepth else { throw .tooDeep(maximum: maximumDepth) }
        output.append(UInt8(ascii: "["))
        var reader = ProtobufReader(bytes, in: range)
        while let field = try reader.nextField() {
            guard field.number == 1, case .bytes(let item) = field.value else { continue }
            try append(OTLPValue(bytes, item), of: bytes, depth: depth, to: &output)
            output.append(UInt8(ascii: ","))
        }
        JSONMembers.close(with: "]", &output)
    }

    private mutating func appendList(
        _ bytes: Span<UInt8>, _ range: Range<Int>, depth: Int, to output: inout [UInt8]
    ) throws(OTLPFault) {
        guard depth <= maximumDepth else { throw .tooDeep(maximum: maximumDepth) }
        let start = attributes.count
        defer { attributes.removeLast(attributes.count - start) }
        try Self.read(bytes, range, field: 1, into: &attributes)
        OTLPAttribute.hideRepeated(in: &attributes, from: start, of: bytes)
        output.append(UInt8(ascii: "{"))
        for index in start..<attributes.count where !attributes[index].isHidden {
            try appendMember(attributes[index], of: bytes, depth: depth, to: &output)
        }
        JSONMembers.close(with: "}", &output)
    }

    /// Reads the KeyValues of a message.
    /// - Parameter number: their field number.
    static func read(
        _ bytes: Span<UInt8>, _ message: Range<Int>, field number: Int, into attributes: inout [OTLPAttribute]
    ) throws(OTLPFault) {
        var reader = ProtobufReader(bytes, in: message)
        while let field = try reader.nextField() {
            guard field.number == number, case .bytes(let range) = field.value else { continue }
            attributes.append(try OTLPAttribute(bytes, range))
        }
    }
}
