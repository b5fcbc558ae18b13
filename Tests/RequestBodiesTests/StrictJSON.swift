/// A second opinion: a reader of RFC 8259 that shares no code with the daemon. It is slow and simple.
struct StrictJSON {
    indirect enum Value: Equatable {
        /// In order, with decoded keys.
        case object([Member])
        case array([Value])
        case string(String)
        /// As written.
        case word(String)
    }

    struct Member: Equatable {
        var key: String
        var value: Value
    }

    private struct Fault: Error {}

    private let text: [UInt8]
    private var next = 0

    /// - Returns: nil if the bytes are not exactly one value. Half of a surrogate pair is read as U+FFFD.
    static func read(_ bytes: [UInt8]) -> Value? {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var reader = StrictJSON(text: bytes)
        guard let value = try? reader.value() else { return nil }
        reader.skipSpace()
        return reader.next == bytes.count ? value : nil
    }

    private init(text: [UInt8]) { self.text = text }

    private mutating func take() throws -> UInt8 {
        guard next < text.count else { throw Fault() }
        next += 1
        return text[next - 1]
    }

    private mutating func expect(_ word: String) throws {
        for byte in word.utf8 { if try take() != byte { throw Fault() } }
    }

    private mutating func skipSpace() {
        while next < text.count, [0x20, 0x09, 0x0A, 0x0D].contains(text[next]) { next += 1 }
    }

    private mutating func value() throws -> Value {
        skipSpace()
        guard next < text.count else { throw Fault() }
        let start = next
        switch text[next] {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): try expect("true")
        case UInt8(ascii: "f"): try expect("false")
        case UInt8(ascii: "n"): try expect("null")
        default: try number()
        }
        return .word(String(decoding: text[start..<next], as: UTF8.self))
    }

    private mutating func object() throws -> Value {
        next += 1
        var members: [Member] = []
        skipSpace()
        if next < text.count, text[next] == UInt8(ascii: "}") {
            next += 1
            return .object([])
        }
        while true {
            skipSpace()
            guard next < text.count, text[next] == UInt8(ascii: "\"") else { throw Fault() }
            let key = try string()
            skipSpace()
            try expect(":")
            members.append(Member(key: key, value: try value()))
            skipSpace()
            switch try take() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "}"): return .object(members)
            default: throw Fault()
            }
        }
    }

    private mutating func array() throws -> Value {
        next += 1
        var items: [Value] = []
        skipSpace()
        if next < text.count, text[next] == UInt8(ascii: "]") {
            next += 1
            return .array([])
        }
        while true {
            items.append(try value())
            skipSpace()
            switch try take() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "]"): return .array(items)
            default: throw Fault()
            }
        }
    }

    private mutating func string() throws -> String {
        next += 1
        var units: [UInt16] = []
        var plain: [UInt8] = []
        func flush(_ plain: inout [UInt8], _ units: inout [UInt16]) {
            units += Array(String(decoding: plain, as: UTF8.self).utf16)
            plain = []
        }
        while true {
            let byte = try take()
            switch byte {
            case UInt8(ascii: "\""):
                flush(&plain, &units)
                return String(decoding: units, as: UTF16.self)
            case UInt8(ascii: "\\"):
                flush(&plain, &units)
                units.append(try escape())
            case 0..<0x20: throw Fault()
            default: plain.append(byte)
            }
        }
    }

    private mutating func escape() throws -> UInt16 {
        switch try take() {
        case UInt8(ascii: "\""): return 0x22
        case UInt8(ascii: "\\"): return 0x5C
        case UInt8(ascii: "/"): return 0x2F
        case UInt8(ascii: "b"): return 8
        case UInt8(ascii: "f"): return 12
        case UInt8(ascii: "n"): return 10
        case UInt8(ascii: "r"): return 13
        case UInt8(ascii: "t"): return 9
        case UInt8(ascii: "u"):
            var unit: UInt16 = 0
            for _ in 0..<4 {
                let digit = Character(Unicode.Scalar(try take()))
                guard digit.isASCII, let value = digit.hexDigitValue else { throw Fault() }
                unit = unit << 4 | UInt16(value)
            }
            return unit
        default: throw Fault()
        }
    }

    private mutating func number() throws {
        func isDigit(_ at: Int) -> Bool { at < text.count && (0x30...0x39).contains(text[at]) }
        func has(_ at: Int, _ characters: String) -> Bool { at < text.count && characters.utf8.contains(text[at]) }
        if has(next, "-") { next += 1 }
        guard isDigit(next) else { throw Fault() }
        if has(next, "0") { next += 1 } else { while isDigit(next) { next += 1 } }
        if has(next, ".") {
            next += 1
            guard isDigit(next) else { throw Fault() }
            while isDigit(next) { next += 1 }
        }
        if has(next, "eE") {
            next += 1
            if has(next, "+-") { next += 1 }
            guard isDigit(next) else { throw Fault() }
            while isDigit(next) { next += 1 }
        }
    }
}

extension StrictJSON.Value {
    var members: [StrictJSON.Member]? {
        if case .object(let members) = self { members } else { nil }
    }
    /// The last value of a key; nil if it is missing or null.
    func field(_ key: String) -> StrictJSON.Value? {
        let value = members?.last { $0.key == key }?.value
        return value == .word("null") ? nil : value
    }
}
