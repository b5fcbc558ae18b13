import Testing

@testable import Routing

@Suite("$merge")
struct MergeTests {
    /// The output of `$merge` for an event with these members.
    private func merged(_ members: String, direction: String, objects: [MappingValue]) throws -> String {
        let mapping = try Mapping(
            .object([
                .init("$merge", .object([.init("objects", .list(objects)), .init("direction", .string(direction))]))
            ]))
        let router = DestinationRouter(
            name: "out", routes: [.init(filter: .always, transforms: [])],
            mapping: MappingSetting(mapping, limit: 1 << 20, secret: { _ in "" }),
            journal: [UInt8](repeating: 1, count: 16))
        let event = SampleEvent(track(members))
        var output: [UInt8] = []
        // Routes the event twice, because no state of the first run may affect the second.
        for _ in 0..<2 {
            output = []
            _ = router.route(event.record, of: event.batch, into: &output)
        }
        return String(decoding: output, as: UTF8.self)
    }

    @Test(arguments: [
        (#""a":{"x":1,"y":2},"b":{"y":3,"z":4}"#, #"{"x":1,"y":3,"z":4}"#, #"{"x":1,"y":2,"z":4}"#),
        (
            #""a":{ "x" : 1 , "y":[{"k":"}"}] },"b":{"x":"\"" }"#, #"{"x":"\"", "y":[{"k":"}"}]}"#,
            #"{ "x" : 1 , "y":[{"k":"}"}]}"#
        ),
        (#""a":{},"b":{"x":1}"#, #"{"x":1}"#, #"{"x":1}"#), (#""a":{ },"b":{ }"#, "{}", "{}"),
        (#""a":{"x":1,"x":2,"y":3},"b":{"w":0}"#, #"{"x":2,"y":3,"w":0}"#, #"{"x":2,"y":3,"w":0}"#),
        (#""a":{"caf\u00e9":1,"x":2},"b":{"café":3}"#, #"{"café":3,"x":2}"#, #"{"café":1,"x":2}"#),
        (#""a":{"x":1},"b":{"\u0078":2}"#, #"{"x":2}"#, #"{"x":1}"#),
        (#""a":"text","b":{"x":1}"#, #"{"x":1}"#, #"{"x":1}"#),
    ])
    func `the last or the first object's member of a name is kept, at the place where the name comes first`(
        _ members: String, _ right: String, _ left: String
    ) throws {
        let objects: [MappingValue] = [.string("$.a"), .string("$.b")]
        // White space before a comma may remain.
        func compact(_ json: String) -> String { json.replacing(" ", with: "") }
        #expect(compact(try merged(members, direction: "right", objects: objects)) == compact(right))
        #expect(compact(try merged(members, direction: "left", objects: objects)) == compact(left))
    }

    @Test
    func `an object in the mapping contributes only its members that have a value`() throws {
        let given = MappingValue.object([
            .init("$$k", .string("$.k")), .init("x", .string("$.userId")), .init("none", .string("$.none")),
        ])
        let event = #""a":{"x":1,"$k":null},"k":{"deep":[1]}"#
        #expect(
            try merged(event, direction: "right", objects: [.string("$.a"), given]) == #"{"x":"u","$k":{"deep":[1]}}"#)
        #expect(try merged(event, direction: "left", objects: [.string("$.a"), given]) == #"{"x":1,"$k":null}"#)
        #expect(
            try merged(event, direction: "left", objects: [given, .string("$.a")]) == #"{"$k":{"deep":[1]},"x":"u"}"#)
        #expect(try merged("", direction: "right", objects: [given]) == #"{"x":"u"}"#)
    }

    @Test
    func `objects with many members are merged by name`() throws {
        let names = (0..<100).map { "name\($0)" }
        let members = { (value: String) in "{" + names.map { "\"\($0)\":\(value)" }.joined(separator: ",") + "}" }
        let event = #""a":\#(members("1")),"b":\#(members("2"))"#
        #expect(try merged(event, direction: "right", objects: [.string("$.a"), .string("$.b")]) == members("2"))
        #expect(try merged(event, direction: "left", objects: [.string("$.a"), .string("$.b")]) == members("1"))
    }
}
