import Events

/// Rewrites a request in JSON as the same request in protobuf, so that its meaning is defined in one place only.
///
/// OTLP's JSON has lowerCamelCase names, integers of 64 bits as strings or numbers, enums as integers, ids in
/// hexadecimal and other bytes in base64. Unknown names are skipped. If a name occurs twice, the last one counts.
struct OTLPJSONRequest: ~Escapable {
    private var reader: JSONReader
    private var output: [UInt8] = []
    /// How deep the lists of a value may be nested. Deeper ones are left empty: `OTLPValueWriter` refuses their log
    /// record before it reaches them.
    private let maximumDepth: Int

    /// - Parameter maximumDepth: levels of nesting of an event.
    static func protobuf(from body: Span<UInt8>, maximumDepth: Int) throws(RequestProblem) -> [UInt8] {
        guard (try? UTF8Span(validating: body)) != nil else {
            throw RequestProblem(.invalidUTF8, "the body is not UTF-8; JSON is always encoded as UTF-8")
        }
        var request = OTLPJSONRequest(body, maximumDepth: maximumDepth)
        do throws(OTLPJSONFault) {
            return try request.rewrite()
        } catch {
            // Positions are counted from 1, as in editors.
            throw RequestProblem(
                .invalidJSON,
                "the body is not an OTLP request in JSON: byte \(error.position + 1): \(error.explanation)")
        }
    }

    @_lifetime(copy body)
    private init(_ body: Span<UInt8>, maximumDepth: Int) {
        reader = JSONReader(body)
        self.maximumDepth = OTLPValueWriter.depth(within: maximumDepth)
        output.reserveCapacity(body.count)
    }

    @_lifetime(self: copy self)
    private mutating func rewrite() throws(OTLPJSONFault) -> [UInt8] {
        try appendFields(of: .request, depth: 0)
        guard reader.peek() == nil else { throw reader.unexpected("expected nothing after the request") }
        return output
    }

    /// - Parameter depth: how many lists contain the message, if it is a part of a value.
    @_lifetime(self: copy self)
    private mutating func appendFields(of message: OTLPMessage, depth: Int) throws(OTLPJSONFault) {
        // A message has at most one field that is repeated.
        var items: Range<Int>?
        guard try reader.begin("{", "}") else { return }
        repeat {
            let field = try reader.string { message.field($0) }
            try reader.expect(":")
            guard let field else {
                try reader.skipValue()
                continue
            }
            if field.isRepeated, let earlier = items {
                output.removeSubrange(earlier)
                items = nil
            }
            if try reader.takeNull() { continue }
            let start = output.count
            if field.isRepeated {
                if try reader.begin("[", "]") {
                    repeat { try append(field, depth: depth) } while try reader.next("]")
                }
                items = start..<output.count
            } else {
                try append(field, depth: depth)
            }
        } while try reader.next("}")
    }

    @_lifetime(self: copy self)
    private mutating func append(_ field: OTLPMessage.Field, depth: Int) throws(OTLPJSONFault) {
        switch field.kind {
        case .message(let message):
            let depth = message == .arrayValue || message == .keyValueList ? depth + 1 : depth
            let start = ProtobufWriter.begin(field: field.number, in: &output)
            if depth > maximumDepth {
                try reader.skipValue()
            } else {
                try appendFields(of: message, depth: depth)
            }
            ProtobufWriter.end(start, in: &output)
        case .string, .hexadecimal, .base64:
            try appendText(field)
        case .bool:
            let isTrue = reader.peek() == UInt8(ascii: "t")
            guard isTrue || reader.peek() == UInt8(ascii: "f") else {
                throw reader.unexpected("\(Self.name(field)): expected true or false")
            }
            _ = try reader.word()
            ProtobufWriter.append(isTrue ? 1 : 0, field: field.number, to: &output)
        case .int32, .uint32, .int64, .fixed32, .fixed64, .double:
            try appendNumber(field)
        }
    }

    @_lifetime(self: copy self)
    private mutating func appendText(_ field: OTLPMessage.Field) throws(OTLPJSONFault) {
        _ = reader.peek()
        let position = reader.position
        let start = ProtobufWriter.begin(field: field.number, in: &output)
        // A local copy, because the closure must not touch `self`.
        var contents: [UInt8] = []
        swap(&contents, &output)
        let isValid = try reader.string { text in
            switch field.kind {
            case .hexadecimal: return Hexadecimal.decode(text, to: &contents)
            case .base64: return Base64.decode(text, to: &contents)
            default:
                contents.append(contentsOf: text)
                return true
            }
        }
        swap(&contents, &output)
        guard isValid else {
            let kind = if case .base64 = field.kind { "base64" } else { "hexadecimal digits" }
            throw OTLPJSONFault(position: position, explanation: "\(Self.name(field)): expected a string of \(kind)")
        }
        ProtobufWriter.end(start, in: &output)
    }

    /// Reads a number, which may be the contents of a string.
    @_lifetime(self: copy self)
    private mutating func appendNumber(_ field: OTLPMessage.Field) throws(OTLPJSONFault) {
        _ = reader.peek()
        let start = reader.position
        let number = try reader.scalar { Number($0) }
        func fault(_ expectation: String) -> OTLPJSONFault {
            OTLPJSONFault(position: start, explanation: "\(Self.name(field)): expected \(expectation)")
        }
        switch field.kind {
        case .double:
            guard let value = number.double else {
                throw fault("a number of 64 bits, \"NaN\", \"Infinity\" or \"-Infinity\"")
            }
            ProtobufWriter.append(fixed64: value.bitPattern, field: field.number, to: &output)
        case .int64:
            guard let value: Int64 = number.integer() else { throw fault("an integer of 64 bits") }
            ProtobufWriter.append(UInt64(bitPattern: value), field: field.number, to: &output)
        case .fixed64:
            guard let value: UInt64 = number.integer() else { throw fault("an integer of 64 bits, not negative") }
            ProtobufWriter.append(fixed64: value, field: field.number, to: &output)
        case .int32:
            guard let value: Int32 = number.integer() else { throw fault("an integer of 32 bits") }
            ProtobufWriter.append(UInt64(bitPattern: Int64(value)), field: field.number, to: &output)
        default:
            guard let value: UInt32 = number.integer() else { throw fault("an integer of 32 bits, not negative") }
            if case .fixed32 = field.kind {
                ProtobufWriter.append(fixed32: value, field: field.number, to: &output)
            } else {
                ProtobufWriter.append(UInt64(value), field: field.number, to: &output)
            }
        }
    }

    private static func name(_ field: OTLPMessage.Field) -> String { String(decoding: field.name, as: UTF8.self) }

    private struct Number {
        private let value: JSONNumber?
        /// One of the numbers that are words.
        private let word: Double?

        init(_ text: Span<UInt8>) {
            value = JSONNumber(text)
            word =
                if text.hasBytes(of: "NaN".utf8.span) {
                    .nan
                } else if text.hasBytes(of: "Infinity".utf8.span) {
                    .infinity
                } else {
                    text.hasBytes(of: "-Infinity".utf8.span) ? -.infinity : nil
                }
        }

        /// Infinity only if it is written as a word: 1e400 is too large, and not what its sender means.
        var double: Double? {
            guard let value else { return word }
            return value.double.isFinite ? value.double : nil
        }

        /// The value if it has no fraction: `7`, `7.0`, `7e3`.
        func integer<Value: FixedWidthInteger>() -> Value? {
            switch value {
            case .integer(let value): Value(exactly: value)
            case .large(let value): Value(exactly: value)
            case .real(let value): Value(exactly: value)
            case nil: nil
            }
        }
    }
}
