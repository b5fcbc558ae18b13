import Foundation
import Routing
import Testing

/// Random configurations of transforms, and random events. Every configuration is refused with a place or
/// runs without a crash, and its output is JSON.
///
/// The environment variable `FUZZ_ROUNDS` sets the number of rounds (`make fuzz`).
@Suite("Transforms under fuzzing")
struct TransformFuzzTests {
    static let rounds = ProcessInfo.processInfo.environment["FUZZ_ROUNDS"].flatMap(Int.init) ?? 150

    private static let lists = [
        "drop: [properties.total, context.os]", "keep: [properties.tags, properties.products.0.sku]",
        "rename: { properties.total: amount, context.os.name: brand }",
        "set: { properties.a.b: \"{{ event }}\", n: $.properties }",
        "copy: { properties.products.0: properties.first }", "move: { context: properties.context }",
        "to_string: [properties.total, properties.mixed]", "to_number: [properties.text, properties.gift]",
        "hash: { paths: [userId, properties.note, properties.products], key: !secret k }",
        "mask: { paths: [properties.note], show: 2 }",
        "redact: { patterns: ['[0-9]+', 'a.*b'] }", "sample: { share: 50%, by: properties.city }",
        "throttle: { events: 3, every: 1s, by: userId }", "dedupe: { by: properties.total }", "name_case: camel",
        "rename_events: { Order Completed: done }", "flatten: { paths: [properties, context], separator: . }",
        "enrich: { host: context.host, values: { properties.star: x } }", "timed: both", "session: properties",
        "drop: [properties.products.0, properties.products.1.name]", "name_case: { to: title, deep: false }",
    ]

    @Test
    func `random transforms in any order give JSON, or a reason for dropping or rejecting the event`() throws {
        var random = FilterFuzzTests.Generator(state: 4)
        for round in 0..<Self.rounds {
            let yaml = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                "- " + (Self.lists.randomElement(using: &random) ?? "").replacing(", key: !secret k", with: "")
            }.joined(separator: "\n")
            let router = try router(yaml)
            for number in 0..<20 {
                let text = Self.mutated(order, &random)
                try Self.expectJSON(outcome(of: router, text, position: UInt64(number)), of: text, yaml, round)
            }
        }
    }

    @Test
    func `settings with random changes are refused with a place or run`() throws {
        var random = FilterFuzzTests.Generator(state: 5)
        var valid = 0
        for round in 0..<Self.rounds * 4 {
            var bytes = Array("- \(Self.lists.randomElement(using: &random) ?? "")".utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let at = Int.random(in: 2..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[at] = Array("a.{}[]:,'\"\\*$!#é0 9\n".utf8).randomElement(using: &random) ?? 0x20
                case 1: bytes.remove(at: at)
                default: bytes.insert(bytes[at], at: at)
                }
            }
            let yaml = String(decoding: bytes, as: UTF8.self)
            guard messages(yaml).isEmpty, let router = try? router(yaml) else { continue }
            valid += 1
            try Self.expectJSON(outcome(of: router, order), of: order, yaml, round)
        }
        #expect(valid > 0)
    }

    private static func expectJSON(_ outcome: String, of event: String, _ yaml: String, _ round: Int) throws {
        guard outcome.hasPrefix("{") else {
            #expect(outcome.hasPrefix("dropped by ") || outcome.hasPrefix("rejected: "), "\(outcome)")
            return
        }
        let json = outcome.components(separatedBy: " with the messageId ")[0]
        #expect(
            (try? JSONSerialization.jsonObject(with: Data(json.utf8))) != nil,
            "round \(round): \(yaml)\n\(event)\n\(json)")
    }

    /// The event with other values, white space, and members added or duplicated. It is still a valid event.
    private static func mutated(_ json: String, _ random: inout some RandomNumberGenerator) -> String {
        let values = [
            "null", "true", "-1.5e3", "\"\"", "\"a \\\"b\\\\\"", "\"\\u00e9@x.org\"", "[]", "{}", "[[{\"k\":[1]}]]",
            "{\"id\":1,\"phase\":\"stop\",\"duration\":2}", "{\"a\":{\"b\":{\"c\":0}}, \"a\" : 2}",
            "\"4111111111111111\"", "123456789012345678901234567890",
        ]
        var text = json
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            let value = values.randomElement(using: &random) ?? "null"
            switch Int.random(in: 0..<6, using: &random) {
            case 0: text = text.replacing("\"total\":1999", with: "\"total\": \(value)")
            case 1: text = text.replacing("\"properties\":{", with: "\"properties\":{ \"n\(value.count)\" : \(value),")
            case 2:
                text = text.replacing("\"context\":{", with: "\"context\":{\"session\":\(value),\"timing\":\(value),")
            case 3: text = text.dropLast(2) + ",\"total\":\(value)}}"
            case 4: text = text.replacing(",\"context\"", with: ",\"properties\":\(value),\"context\"")
            default: text = text.replacing("\"note\":", with: "\"no\\u0074e\":\(value),\"note\" :\n")
            }
        }
        return text
    }
}
