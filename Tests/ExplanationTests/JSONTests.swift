import Explanation
import Testing

@Suite("JSON trees")
struct JSONTests {
    @Test(arguments: [
        #"{"b":1.50,"a":[1,2.0,-0,1e400,true,null],"":{}}"#, "[]", #""a\"b\\c\nd""#, "12345678901234567890",
    ])
    func `a JSON text is written as it was read, including numbers and order`(_ text: String) throws {
        #expect(try #require(JSONTree(text)).text == text)
    }

    @Test(arguments: ["", "{", "[1,", #"{"a"}"#, #"{"a":}"#, "tru", "1 2", #""a"#, #""\"#, "[1]]", "nan", "{a:1}"])
    func `a text that is not JSON is nil`(_ text: String) {
        #expect(JSONTree(text) == nil)
    }

    @Test func `endless nesting is left unchanged`() throws {
        let text = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(try #require(JSONTree(text)).text == text)
    }

    @Test(arguments: [
        ("1", "1.0", true), ("[1,2]", "[2,1]", false), (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, true),
        (#""1""#, "1", false),
        (#""\u0061""#, #""a""#, true), ("null", "{}", false), ("9007199254740993", "9007199254740992", false),
        (#"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#, true), (#"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#, false),
        (#"{"a":1,"a":2}"#, #"{"a":1,"b":2}"#, false),
    ])
    func `equality ignores number notation and member order`(_ a: String, _ b: String, _ isEqual: Bool) throws {
        let left = try #require(JSONTree(a))
        let right = try #require(JSONTree(b))
        #expect((left == right) == isEqual)
    }

    @Test(arguments: [
        (#"{"a":1,"b":{"c":2}}"#, #"{"a":1,"b":{"c":3}}"#, ["b.c: 2 3"]),
        (#"{"a":1}"#, #"{"b":{"c":1,"d":2}}"#, ["a: 1 -", "b.c: - 1", "b.d: - 2"]),
        (#"{"l":[1,2,3]}"#, #"{"l":[1,5]}"#, ["l.1: 2 5", "l.2: 3 -"]),
        (#"{"a b":1}"#, #"{"a b":2}"#, [#"a\ b: 1 2"#]),
        ("1", "2", [": 1 2"]),
        (#"{"a":2,"a":3}"#, #"{"a":2,"a":3,"b":1}"#, ["b: - 1"]), (#"{"a":2}"#, #"{"a":2,"a":3}"#, ["a: - 3"]),
        (#"{"a":2,"a":3}"#, #"{"a":2}"#, ["a: 3 -"]), (#"{"a":1,"a":2,"a":3}"#, #"{"a":1,"a":4,"a":3}"#, ["a: 2 4"]),
    ])
    func `a difference names fields as a filter does`(_ a: String, _ b: String, _ expected: [String]) throws {
        let changes = JSONDifference(from: try #require(JSONTree(a)), to: try #require(JSONTree(b))).changes
        #expect(changes.map { "\($0.path): \($0.before?.text ?? "-") \($0.after?.text ?? "-")" } == expected)
    }

    @Test func `a subset ignores fields that are not expected, at any depth`() throws {
        let expected = try #require(JSONTree(#"{"a":{"b":1},"l":[{"x":1}]}"#))
        let actual = try #require(JSONTree(#"{"a":{"b":1,"c":2},"d":3,"l":[{"x":1,"y":2}]}"#))
        #expect(JSONDifference(expected: expected, actual: actual, .subset).isEmpty)
        #expect(JSONDifference(expected: expected, actual: actual, .whole).changes.count == 3)
    }

    @Test(arguments: [
        ("{\"a\":1}\n{\"b\":2}\n", ["{\"a\":1}", "{\"b\":2}"]),
        ("{\n  \"a\": 1\n}\n\n{\"b\":2}", ["{   \"a\": 1 }", "{\"b\":2}"]),
        ("nonsense\n{\"a\":\"}\"}", ["nonsense", "{\"a\":\"}\"}"]),
        ("{\"a\":\"x\ny\"}", ["{\"a\":\"x", "y\"}"]),
        ("{\"a\":1\n{\"b\":2}\n{\"c\":3}\n", ["{\"a\":1", "{\"b\":2}", "{\"c\":3}"]),
        ("{\"a\":[\n  {}\n  {}\n]}\n{\"b\":2}", ["{\"a\":[   {}   {} ]}", "{\"b\":2}"]),
        (" \r\n\n", []), ("}}}\n{}", ["}}}", "{}"]),
    ])
    func `an event is one line or several lines`(_ text: String, _ events: [String]) {
        #expect(EventInput.split(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } == events)
    }
}
