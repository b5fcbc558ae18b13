import Events

/// A field whose value identifies something, such as a user or a message. If the index holds the field, the event is
/// not read.
struct FieldKey {
    private enum Source {
        case indexed(IndexedField)
        case field(Int)
    }

    private let source: Source

    init(_ path: FieldPath, _ binding: inout StageBinding) {
        source = IndexedField(path).map(Source.indexed) ?? .field(binding.value(path))
    }

    /// Passes the value to `body`, and whether it is text. A string is passed decoded; any other value is passed as it
    /// is spelled.
    /// - Returns: false if the field is missing or null. `body` is then not called.
    func read(_ view: borrowing EventView, _ body: (_ value: Span<UInt8>, _ isText: Bool) -> Void) -> Bool {
        let value =
            switch source {
            case .indexed(let field): view.value(field)
            case .field(let path): view.value(path)
            }
        let slice = value.slice
        guard slice.isPresent, value.type != .null else { return false }
        guard value.type == .escapedString else {
            body(view.bytes(slice), value.type == .string)
            return true
        }
        var decoded: [UInt8] = []
        guard JSONText.unescape(view.bytes(slice), into: &decoded) else { return false }
        body(decoded.span, true)
        return true
    }
}

/// 64-bit FNV-1a with the final mixing of MurmurHash3. It gives the same value on every machine, forever. It is for
/// sampling, not for secrets.
struct StableHash {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ bytes: Span<UInt8>) {
        for i in bytes.indices { state = (state ^ UInt64(bytes[i])) &* 0x0000_0100_0000_01B3 }
    }

    mutating func add(_ number: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            state = (state ^ (number >> shift & 0xFF)) &* 0x0000_0100_0000_01B3
        }
    }

    var value: UInt64 {
        var mixed = state
        mixed = (mixed ^ mixed >> 33) &* 0xFF51_AFD7_ED55_8CCD
        mixed = (mixed ^ mixed >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return mixed ^ mixed >> 33
    }
}
