import CFieldOracle
import Events
import Glibc
import Testing

/// Reads paths from strange events and compares the values with those that simdjson's own walk finds.
@Suite struct PathFuzzTests {
    @Test(arguments: 0..<8 as Range<UInt64>) func `the reader finds the same values as simdjson`(_ seed: UInt64) {
        var random = SplitMix(state: seed)
        var found = 0
        for _ in 0..<400 {
            let keys = RandomEvent.someKeys(using: &random)
            let json = RandomEvent.text(keys, using: &random)
            #expect(Scan(json + [0x0A]).accepted.count == 1, "\(String(decoding: json, as: UTF8.self))")
            let paths = RandomEvent.paths(keys, using: &random)
            let reader = PathReader(PathSet(paths))
            #expect(reader.read(json.span) != .unreadable)
            for (number, path) in paths.enumerated() {
                let expected = Self.simdjson(path, in: json)
                if reader[number] != expected {
                    Issue.record(
                        "\(path.segments) is \(reader[number]), not \(String(describing: expected)), in \(String(decoding: json, as: UTF8.self))"
                    )
                }
                if reader[number].type != .missing { found += 1 }
            }
        }
        #expect(found > 200)
    }

    /// The pages before and after the bytes are not readable.
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `the reader never reads outside its input or returns a range outside it`(_ seed: UInt64) {
        var random = SplitMix(state: seed)
        let memory = GuardedPage()
        for round in 0..<600 {
            let keys = RandomEvent.someKeys(using: &random)
            var bytes = RandomEvent.text(keys, using: &random)
            for _ in 0..<Int.random(in: 0...3, using: &random) { RandomEvent.damage(&bytes, using: &random) }
            bytes = Array(bytes.prefix(GuardedPage.size))
            let paths = RandomEvent.paths(keys, using: &random)
            let reader = PathReader(PathSet(paths))
            let answer = memory.withBytes(bytes, atEnd: round % 2 == 0) { reader.read($0) }
            for number in paths.indices {
                let value = reader[number]
                #expect(answer != .unreadable || value == .missing)
                if let json = value.json { #expect(json.lowerBound >= 0 && json.upperBound <= bytes.count) }
            }
        }
    }

    private static func simdjson(_ path: FieldPath, in json: [UInt8]) -> FieldValue? {
        let text = path.segments.flatMap { Array($0.utf8) }
        let lengths = path.segments.map { UInt32($0.utf8.count) }
        var value = oracle_value()
        guard unsafe oracle_find(json, json.count, text, lengths, lengths.count, &value) == 0 else { return nil }
        return FieldType(rawValue: value.type).map {
            FieldValue(slice: Slice(offset: value.offset, length: value.length), type: $0)
        }
    }
}

/// Makes valid events that use everything that JSON allows.
private enum RandomEvent {
    static let keys = [
        "a", "b", "", "os", "name", "sevenby", "eightbyt", "fourteen_bytes", "fifteen___bytes",
        "a key of more than sixteen bytes",
        "a key of more than sixteen bytez", "é", "😀", "0", "1", "12", "01", "a\"b", "x\\y", "\\", "a.b", "}", ":", "\n",
    ]
    static let pieces = [
        "x", "y", "{", "}", "[", "]", ":", ",", "\"", "\\", "\\\\\"", "é", "😀", "\u{1}", "_", "null",
        "a text of some length, so that the next thing lies in another block", String(repeating: "-", count: 61),
    ]
    static let scalars = ["null", "true", "false", "0", "-1.5e3", "12345678901234567890123", "1e400", "7"]

    /// Only a few keys, so that random paths find values.
    static func someKeys(using random: inout SplitMix) -> [String] { Array(keys.shuffled(using: &random).prefix(4)) }

    static func paths(_ keys: [String], using random: inout SplitMix) -> [FieldPath] {
        (0..<Int.random(in: 1...12, using: &random)).map { _ in
            FieldPath((0..<Int.random(in: 1...4, using: &random)).map { _ in keys.randomElement(using: &random) ?? "" })
        }
    }

    static func text(_ keys: [String], using random: inout SplitMix) -> [UInt8] {
        var members = [#""type":"identify""#, #""userId":"u""#]
        for _ in 0..<Int.random(in: 0...6, using: &random) { members.append(member(keys, depth: 4, using: &random)) }
        members.shuffle(using: &random)
        return Array(("{" + members.joined(separator: ",") + space(using: &random) + "}").utf8)
    }

    static func damage(_ bytes: inout [UInt8], using random: inout SplitMix) {
        let position = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.removeSubrange(position...)
        case 1: bytes.insert(contentsOf: Array((pieces.randomElement(using: &random) ?? "").utf8), at: position)
        case 2 where position < bytes.count: bytes[position] = UInt8.random(in: 0...255, using: &random)
        default: bytes.removeSubrange(0..<position)
        }
    }

    private static func member(_ keys: [String], depth: Int, using random: inout SplitMix) -> String {
        string(keys.randomElement(using: &random) ?? "", using: &random) + space(using: &random) + ":"
            + value(keys, depth: depth, using: &random)
    }

    private static func value(_ keys: [String], depth: Int, using random: inout SplitMix) -> String {
        let before = space(using: &random)
        let after = space(using: &random)
        let choice = Int.random(in: 0..<(depth > 0 ? 6 : 3), using: &random)
        let count = Int.random(in: 0...4, using: &random)
        switch choice {
        case 0: return before + (scalars.randomElement(using: &random) ?? "0") + after
        case 1, 2:
            let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            return before + string(text, using: &random) + after
        case 3:
            let items = (0..<count).map { _ in value(keys, depth: depth - 1, using: &random) }
            return before + "[" + items.joined(separator: ",") + space(using: &random) + "]" + after
        default:
            let members = (0..<count).map { _ in space(using: &random) + member(keys, depth: depth - 1, using: &random)
            }
            return before + "{" + members.joined(separator: ",") + space(using: &random) + "}" + after
        }
    }

    /// Uses more escapes than JSON requires.
    private static func string(_ text: String, using random: inout SplitMix) -> String {
        let escapes = Int.random(in: 0..<8, using: &random) == 0
        var json = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" {
                json += "\\" + String(scalar)
            } else if scalar.value < 0x20 || (escapes && scalar.value < 0x10000 && Bool.random(using: &random)) {
                let digits = String(scalar.value, radix: 16)
                json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                json.unicodeScalars.append(scalar)
            }
        }
        return json + "\""
    }

    private static func space(using random: inout SplitMix) -> String {
        Int.random(in: 0..<6, using: &random) > 0
            ? "" : ["  ", "\t", "\r", String(repeating: " ", count: 70)].randomElement(using: &random) ?? ""
    }
}

/// Memory between two pages that are not readable.
@safe private final class GuardedPage {
    static let size = 16 << 10
    private static let page = 64 << 10
    private let start: UnsafeMutableRawPointer

    init() {
        let start = unsafe mmap(nil, 3 * Self.page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start = unsafe start, unsafe start != MAP_FAILED,
            unsafe mprotect(start + Self.page, Self.page, PROT_READ | PROT_WRITE) == 0
        else { preconditionFailure("no memory for the test: errno \(errno)") }
        unsafe self.start = start + Self.page
    }

    deinit { unsafe munmap(start - Self.page, 3 * Self.page) }

    func withBytes<Result>(_ bytes: [UInt8], atEnd: Bool, _ body: (Span<UInt8>) -> Result) -> Result {
        let place = unsafe start + (atEnd ? Self.page - bytes.count : 0)
        unsafe bytes.withUnsafeBytes { bytes in
            if let from = bytes.baseAddress { unsafe place.copyMemory(from: from, byteCount: bytes.count) }
        }
        let copy = unsafe UnsafeBufferPointer(start: place.assumingMemoryBound(to: UInt8.self), count: bytes.count)
        return unsafe body(Span(_unsafeElements: copy))
    }
}
