import Events
import Testing

@testable import Explanation

/// The fields in which two JSON texts differ.
@Suite struct FieldDifferenceTests {
    private func fields(_ old: String, _ new: String) -> [String] {
        var difference = FieldDifference()
        difference.compare(Array(old.utf8).span, Array(new.utf8).span)
        return difference.fields.map { field in
            let mark =
                switch field.change {
                case .added: "+"
                case .removed: "-"
                case .changed: "~"
                }
            return mark + String(decoding: field.path, as: UTF8.self)
        }
    }

    @Test(arguments: [
        (#"{"a":1}"#, #"{"a":1}"#, []),
        (#"{"a":1}"#, #"{"a":2}"#, ["~a"]),
        (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, []),
        (#"{"a":1,"b":2,"c":3}"#, #"{"a":1,"c":4}"#, ["-b", "~c"]),
        (#"{"a":{"b":{"c":1}}}"#, #"{"a":{"b":{"c":1,"d":2}}}"#, ["+a.b.d"]),
        (#"{"a":1.0}"#, #"{"a":1}"#, []), (#"{"a":1e2}"#, #"{ "a" : 100 }"#, []),
        (#"{"a":"\u0061"}"#, #"{"a":"a"}"#, []), (#"{"\u0061":1}"#, #"{"a":1}"#, []),
        (#"{"a":"1"}"#, #"{"a":1}"#, ["~a"]), (#"{"a":null}"#, #"{}"#, ["-a"]),
        (#"{"a":[1,2]}"#, #"{"a":[1,3,4]}"#, ["~a.*", "+a.*"]),
        (#"{"a":[{"b":1},{"b":2}]}"#, #"{"a":[{"b":3},{"b":4}]}"#, ["~a.*.b"]),
        (#"{"a":[]}"#, #"{"a":{}}"#, ["~a"]), ("[1]", "[1,2]", ["+*"]), ("1", "2", ["~"]),
        (#"{"a":1,"a":2}"#, #"{"a":1}"#, ["-a"]), ("{}", #"{"":{"x":1}}"#, ["+"]),
    ])
    func `fields are named by their paths`(_ old: String, _ new: String, _ expected: [String]) {
        #expect(fields(old, new) == expected)
    }

    @Test func `deep nesting, many members and many differences are bounded`() {
        let deep = String(repeating: "[", count: 5_000) + "1" + String(repeating: "]", count: 5_000)
        #expect(fields(deep, deep.replacing("1", with: "2")).count == 1)
        let many = (0..<20_000).map { #""k\#($0)":\#($0)"# }
        #expect(fields("{\(many.joined(separator: ","))}", "{\(many.reversed().joined(separator: ","))}") == ["~"])
        let none = "{" + (0..<20_000).map { #""k\#($0)":0"# }.joined(separator: ",") + "}"
        #expect(fields("{\(many.joined(separator: ","))}", none).count == FieldDifference.maximumFields)
    }

    /// The tree's difference is the model.
    @Test func `it agrees with the difference of trees`() throws {
        var random = Generator(state: 11)
        for _ in 0..<3_000 {
            let (a, b) = (value(&random, 3), value(&random, 3))
            let trees = JSONDifference(from: try #require(JSONTree(a)), to: try #require(JSONTree(b)))
            #expect(fields(a, b).isEmpty == trees.isEmpty, "\(a) \(b)")
        }
    }

    private func value(_ random: inout Generator, _ depth: Int) -> String {
        switch Int.random(in: 0..<(depth == 0 ? 4 : 7), using: &random) {
        case 0: return ["1", "1.0", "2", "-0", "0"].randomElement(using: &random) ?? "1"
        case 1: return [#""a""#, #""\u0061""#, #""b""#, #""""#].randomElement(using: &random) ?? "1"
        case 2: return "null"
        case 3: return "true"
        case 4:
            return "["
                + (0..<Int.random(in: 0..<3, using: &random)).map { _ in value(&random, depth - 1) }
                .joined(separator: ",") + "]"
        default:
            let keys = ["a", "b", "\\u0061", "c"].shuffled(using: &random).prefix(Int.random(in: 0..<4, using: &random))
            // Two spellings of one name are two members, which trees pair in another way.
            let distinct = keys.contains("a") ? keys.filter { $0 != "\\u0061" } : Array(keys)
            return "{" + distinct.map { "\"\($0)\":\(value(&random, depth - 1))" }.joined(separator: ",") + "}"
        }
    }
}
