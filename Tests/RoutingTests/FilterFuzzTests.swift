import Routing
import Testing

@Suite("Filter fuzzing")
struct FilterFuzzTests {
    /// Makes the same numbers in each run.
    struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let mixed = (state ^ state >> 31) &* 0x9E37_79B9_7F4A_7C15
            return mixed ^ mixed >> 29
        }
    }

    private static let words = [
        "type", "event", "userId", "messageId", "properties.total", "properties.tags", "properties.mixed.4",
        "properties.products.0.sku", "context", "properties.missing", "properties.note", "anonymousId",
        "and", "or", "!", "=", "!=", "<", "<=", ">", ">=", "in", "(", ")", "[", "]", ",", "true", "false", "null",
        "contains(", "match(", "length(", "lowercase(", "titlecase(", "typeof(", "bool(", "string(", "number(",
        "'track'", "\"Order*\"", "'[a-z]*'", "''", "0", "-1.5e3", "1e999", "9223372036854775808", "\\", "'", "é", "..",
        "a\\ b",
        "['a', 1, null]", "[]", "snakecase(", "  ", "\u{0}", "$.x", "{{",
    ]

    @Test
    func `random words never crash the parser or the evaluator, and a filter gives the same answer twice`() {
        var random = Generator(state: 20_240_501)
        let event = SampleEvent(order)
        var parsed = 0
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<Int.random(in: 1...14, using: &random) {
                text += Self.words.randomElement(using: &random) ?? ""
                if Bool.random(using: &random) { text += " " }
            }
            parsed += check(text, event)
        }
        // Enough texts must be valid filters, so that the test reaches the evaluator.
        #expect(parsed > 100)
    }

    @Test
    func `every filter made by the grammar parses, and none crashes`() {
        var random = Generator(state: 99)
        let event = SampleEvent(order)
        for _ in 0..<5_000 {
            let text = Self.condition(depth: 5, &random)
            #expect(check(text, event) == 1, "\(text)")
        }
    }

    @Test
    func `a filter with random changes is parsed, or refused with a place inside it`() {
        var random = Generator(state: 7)
        let event = SampleEvent(order)
        let seed = Array(
            "type = 'track' and (event in ['a', \"b\"] or !contains(properties.note, 'x')) and -1.5e2 < length(a\\ b)"
                .utf8)
        for _ in 0..<10_000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: at)
                default: bytes.insert(bytes[at], at: at)
                }
            }
            _ = check(String(decoding: bytes, as: UTF8.self), event)
        }
    }

    /// - Returns: 1 if the text is a filter, otherwise 0.
    private func check(_ text: String, _ event: SampleEvent) -> Int {
        do {
            let filter = try Filter(parsing: text)
            #expect(event.passes(filter) == event.passes(filter))
            return 1
        } catch {
            let length = text.utf8.count
            #expect(
                error.column >= 0 && error.length >= 0 && error.column + error.length <= length, "\(text): \(error)")
            return 0
        }
    }

    private static func condition(depth: Int, _ random: inout Generator) -> String {
        guard depth > 0 else { return "properties.first" }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return "(\(condition(depth: depth - 1, &random)) and \(condition(depth: depth - 1, &random)))"
        case 1: return "(\(condition(depth: depth - 1, &random)) or \(condition(depth: depth - 1, &random)))"
        case 2: return "!(\(condition(depth: depth - 1, &random)))"
        case 3:
            let operators = ["=", "!=", "<", "<=", ">", ">="]
            let comparison = operators.randomElement(using: &random) ?? "="
            return "\(value(depth: depth - 1, &random)) \(comparison) \(value(depth: depth - 1, &random))"
        case 4: return "\(value(depth: depth - 1, &random)) in ['Order Completed', 1, true, null]"
        case 5: return "\(value(depth: depth - 1, &random)) in properties.mixed"
        case 6: return "contains(string(\(value(depth: depth - 1, &random))), event)"
        default: return "match(lowercase(string(\(value(depth: depth - 1, &random)))), '*[a-z]?*')"
        }
    }

    private static func value(depth: Int, _ random: inout Generator) -> String {
        let leaves = [
            "event", "type", "properties.total", "properties.tags", "properties.note", "context", "'x'", "3", "null",
            "['a']",
        ]
        guard depth > 0, Bool.random(using: &random) else { return leaves.randomElement(using: &random) ?? "event" }
        let functions = ["length", "string", "typeof", "bool", "number"]
        return "\(functions.randomElement(using: &random) ?? "length")(\(value(depth: depth - 1, &random)))"
    }
}
