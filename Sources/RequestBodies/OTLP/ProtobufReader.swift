/// One field of a protobuf message.
struct ProtobufField {
    enum Value {
        case varint(UInt64)
        case fixed64(UInt64)
        case fixed32(UInt32)
        /// The range of a string, of bytes or of a message.
        case bytes(Range<Int>)
    }

    var number: Int
    var value: Value
}

/// Why bytes are not a protobuf message.
struct ProtobufFault: Error, Equatable {
    enum Kind: Equatable {
        case truncated
        /// A varint of more than 64 bits.
        case varintTooLong
        case invalidFieldNumber
        /// Groups (wire types 3 and 4) are deprecated, and OTLP has none. Types 6 and 7 do not exist.
        case wireType(UInt8)
    }

    var kind: Kind
    /// The index of the offending byte, or of the field that is too short.
    var position: Int

    var explanation: String {
        switch kind {
        case .truncated: "a field is longer than the rest of its message"
        case .varintTooLong: "a variable-length integer has more than 64 bits"
        case .invalidFieldNumber: "the field number is not in 1…536870911"
        case .wireType(let type): "wire type \(type) is not supported"
        }
    }
}

/// Reads the fields of one protobuf message from left to right, without a schema. Allocates no memory, and never reads
/// outside the message, whatever its lengths claim.
struct ProtobufReader: ~Escapable {
    private let bytes: Span<UInt8>
    private let end: Int
    private var position: Int

    /// - Parameter range: the message. Ranges and positions are those of `bytes`, which usually is the whole request.
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, in range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "the message is outside the bytes")
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    /// The next field; nil at the end of the message.
    @_lifetime(self: copy self)
    mutating func next() throws(ProtobufFault) -> ProtobufField? {
        guard position < end else { return nil }
        let start = position
        let tag = try varint()
        guard 1...536_870_911 ~= tag >> 3 else { throw ProtobufFault(kind: .invalidFieldNumber, position: start) }
        let number = Int(truncatingIfNeeded: tag >> 3)
        switch tag & 7 {
        case 0:
            return ProtobufField(number: number, value: .varint(try varint()))
        case 1:
            return ProtobufField(number: number, value: .fixed64(try fixed(8, of: start)))
        case 2:
            let length = try varint()
            guard length <= UInt64(end - position) else { throw ProtobufFault(kind: .truncated, position: start) }
            let range = position..<position + Int(length)
            position = range.upperBound
            return ProtobufField(number: number, value: .bytes(range))
        case 5:
            return ProtobufField(
                number: number, value: .fixed32(UInt32(truncatingIfNeeded: try fixed(4, of: start))))
        default:
            throw ProtobufFault(kind: .wireType(UInt8(tag & 7)), position: start)
        }
    }

    @_lifetime(self: copy self)
    private mutating func varint() throws(ProtobufFault) -> UInt64 {
        if position < end, bytes[position] < 0x80 {
            defer { position += 1 }
            return UInt64(bytes[position])
        }
        let start = position
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < end {
            let byte = bytes[position]
            // The tenth byte holds the last bit.
            guard shift < 63 || byte <= 1 else { throw ProtobufFault(kind: .varintTooLong, position: start) }
            position += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw ProtobufFault(kind: .truncated, position: start)
    }

    /// A little-endian integer.
    @_lifetime(self: copy self)
    private mutating func fixed(_ size: Int, of start: Int) throws(ProtobufFault) -> UInt64 {
        guard end - position >= size else { throw ProtobufFault(kind: .truncated, position: start) }
        var value: UInt64 = 0
        for index in 0..<size { value |= UInt64(bytes[position + index]) << UInt64(8 * index) }
        position += size
        return value
    }
}
