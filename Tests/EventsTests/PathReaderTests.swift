import Events
import Testing

@Suite struct PathReaderTests {
    /// Returns the type and text of the value at each path. Dots separate the segments of a path.
    private func read(_ paths: [String], from json: String) -> [String] {
        let set = PathSet(
            paths.map { FieldPath($0.split(separator: ".", omittingEmptySubsequences: false).map(String.init)) })
        let reader = PathReader(set)
        let bytes = Array(json.utf8)
        #expect(reader.read(bytes.span) != .unreadable)
        return paths.indices.map { reader[$0] }.map { value in
            guard value.slice.isPresent else { return "\(value.type)" }
            return "\(value.type) " + String(decoding: bytes[value.slice.range], as: UTF8.self)
        }
    }

    @Test func `the reader reports the type of every value`() {
        let json = #" { "a" : null , "b":true,"c":false, "d" : -1.5e3 ,"e":"x y","f":"\n" ,"g":[ 1 ],"h":{ } } "#
        #expect(
            read(["a", "b", "c", "d", "e", "f", "g", "h", "i"], from: json) == [
                "null null", "true true", "false false", "number -1.5e3", "string x y", #"escapedString \n"#,
                "array [ 1 ]", "object { }", "missing",
            ])
    }

    @Test func `paths reach into objects and lists`() {
        let json = #"{"a":{"b":{"c":1},"d":[{"e":"x"},[2,3]]},"b":9}"#
        #expect(
            read(["a.b.c", "a.d.0.e", "a.d.1.1", "a.d.2", "a.b", "b.c", "a.d.1", "c"], from: json) == [
                "number 1", "string x", "number 3", "missing", #"object {"c":1}"#, "missing", "array [2,3]", "missing",
            ])
    }

    @Test func `the same path can be read twice`() {
        #expect(read(["a.b", "a", "a.b"], from: #"{"a":{"b":1}}"#) == ["number 1", #"object {"b":1}"#, "number 1"])
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, ["number 2", "missing"]),
        (#"{"a":{"b":1},"a":2}"#, ["number 2", "missing"]),
        (#"{"a":{"b":1},"a":{"c":2}}"#, [#"object {"c":2}"#, "missing"]),
        (#"{"a":{"b":1},"\u0061":{"b":3}}"#, [#"object {"b":3}"#, "number 3"]),
        (#"{"a":{"b":1,"b":[]}}"#, [#"object {"b":1,"b":[]}"#, "array []"]),
    ]) func `the last duplicate of a key counts, with everything in it`(_ json: String, _ expected: [String]) {
        #expect(read(["a", "a.b"], from: json) == expected)
    }

    @Test func `escapes in keys are decoded before they are compared`() {
        #expect(read(["é.a\"b"], from: #"{"\u00e9":{"a\"b":1}}"#) == ["number 1"])
        #expect(read([#"\n"#], from: #"{"\n":1}"#) == ["missing"])
        #expect(read([""], from: #"{"":1}"#) == ["number 1"])
        #expect(read(["a\0b"], from: #"{"a":1,"a\u0000b":2}"#) == ["number 2"])
    }

    @Test func `digits are a key in an object and an index in a list`() {
        let object = #"{"a":{"0":"k","00":"kk"}}"#
        #expect(read(["a.0", "a.00", "a.-1"], from: object) == ["string k", "string kk", "missing"])
        #expect(read(["a.0", "a.00", "a.99999999999"], from: #"{"a":[5]}"#) == ["number 5", "missing", "missing"])
        #expect(read(["10"], from: "[0,1,2,3,4,5,6,7,8,9,{}]") == ["object {}"])
    }

    @Test func `paths into empty containers are missing`() {
        #expect(read(["a", "a.b"], from: "{}") == ["missing", "missing"])
        #expect(read(["a.b", "a.0", "c"], from: #"{"a":{},"a":[],"c":1}"#) == ["missing", "missing", "number 1"])
    }

    @Test func `one reader reads many paths`() {
        let names = (0..<300).map { "key\($0)" }
        let json = "{" + names.reversed().map { "\"\($0)\":\"v\($0)\"" }.joined(separator: ",") + "}"
        #expect(read(names, from: json) == names.map { "string v\($0)" })
    }

    /// The reader works on blocks of 64 bytes. The result must not depend on where a block begins.
    @Test(arguments: 0..<130) func `containers may end anywhere in a block`(_ padding: Int) {
        let json =
            #"{"p":""# + String(repeating: "x", count: padding) + #"","a":[{"b":1},[2,{"b":"y"}]],"c":{"d":[3]},"e":5}"#
        #expect(
            read(["a.0.b", "a.1.1.b", "c.d.0", "c.d", "e", "p.x"], from: json) == [
                "number 1", "string y", "number 3", "array [3]", "number 5", "missing",
            ])
    }

    @Test func `a reader holds the values of the last event`() {
        let reader = PathReader(PathSet([FieldPath(["b"]), FieldPath(["a"])]))
        let (first, second) = (Array(#"{"a":1,"b":"x"}"#.utf8), Array(#"{"a":null}"#.utf8))
        for _ in 0..<3 {
            #expect(reader.read(first.span) == .read)
            #expect([reader[0].type, reader[1].type] == [.string, .number])
            #expect(
                [reader[0], reader[1]].map { $0.json.map { String(decoding: first[$0], as: UTF8.self) } } == [
                    "\"x\"", "1",
                ])
            #expect(reader.read(second.span) == .read)
            #expect([reader[0].type, reader[1].type] == [.missing, .null])
        }
        #expect(PathReader(PathSet([])).read(first.span) == .read)
    }

    @Test(arguments: ["", " ", "{", #"{"a""#, #"{"a":"#, #"{"a":{"b""#, #"{"a":{"b":1"#, "\"", #"{"a":1"#, #"{"a":"x"#])
    func `a truncated event is unreadable`(_ text: String) {
        let reader = PathReader(PathSet([FieldPath(["a", "b"]), FieldPath(["a"])]))
        let bytes = Array(text.utf8)
        #expect(reader.read(bytes.span) == .unreadable)
        #expect([reader[0], reader[1]] == [.missing, .missing])
    }
}
