import Testing

@testable import Routing

/// The limit on the work of any mapping for one event.
@Suite("Limits of a mapping")
struct MappingBoundTests {
    private func router(_ mapping: MappingValue) throws -> DestinationRouter {
        DestinationRouter(
            name: "out", routes: [.init(filter: .always, transforms: [])],
            mapping: MappingSetting(try Mapping(mapping), limit: 1 << 20, secret: { _ in "" }),
            journal: [UInt8](repeating: 1, count: 16))
    }

    private func directive(_ name: String, _ arguments: [(String, MappingValue)]) -> MappingValue {
        .object([.init(name, .object(arguments.map { MappingValue.Member($0.0, $0.1) }))])
    }

    /// Each of these mappings gives no value, so no limit on its output applies.
    private func nested(_ levels: Int, in list: MappingValue) -> MappingValue {
        var mapping = MappingValue.string("$.x")
        for _ in 0..<levels {
            mapping = directive(
                "$if", [("is_blank", .object([.init("$arrayPath", .list([list, mapping]))])), ("then", .number("1"))])
        }
        return mapping
    }

    private func doubled(_ levels: Int) -> MappingValue {
        var mapping = MappingValue.string("$.s")
        for _ in 0..<levels { mapping = directive("$match", [("value", mapping), ("pattern", .string(".*"))]) }
        return mapping
    }

    private let stopped = "mapping: this event takes more than \(MappingRun.maximumSteps) steps"

    @Test
    func `a mapping with nested lists stops at the step limit, and the next event is mapped`() throws {
        let forty = MappingValue.list((0..<40).map { .number("\($0)") })
        let router = try router(
            .object([
                .init("a", directive("$if", [("exists", .string("$.l")), ("then", nested(6, in: forty))])),
                .init("b", .string("$.event")),
            ]))
        let (long, short) = (SampleEvent(track("\"l\":1")), SampleEvent(track("")))
        var output: [UInt8] = []
        #expect(router.route(long.record, of: long.batch, into: &output) == .rejected(reason: stopped))
        #expect(output.isEmpty)
        guard case .routed = router.route(short.record, of: short.batch, into: &output) else {
            Issue.record("not written")
            return
        }
        #expect(String(decoding: output, as: UTF8.self) == #"{"b":"Signed Up"}"#)
    }

    @Test
    func `a mapping that reads a value twice at each level stops at the step limit`() throws {
        let mapping = MappingValue.object([.init("$arrayPath", .list([.string("$.l"), doubled(13)]))])
        let event = SampleEvent(
            track("\"l\":[" + (0..<10_000).map { _ in "{\"s\":\"x\"}" }.joined(separator: ",") + "]"))
        var output: [UInt8] = []
        let router = try router(mapping)
        #expect(router.route(event.record, of: event.batch, into: &output) == .rejected(reason: stopped))
    }

    @Test
    func `a realistic mapping of the largest event stays below the step limit`() throws {
        let item = #"{"sku":"A-1","price":"10.50","sizes":[{"eu":40,"stock":[1,2]},{"eu":41,"stock":[3]}]}"#
        let event = SampleEvent(track("\"l\":[" + (0..<3_000).map { _ in item }.joined(separator: ",") + "]"))
        func list(_ path: String, _ shape: MappingValue) -> MappingValue {
            .object([.init("$arrayPath", .list([.string(path), shape]))])
        }
        let stock = list("$.stock", .object([.init("n", .object([.init("$path", .string("$"))]))]))
        let shape = MappingValue.object([
            .init("id", .string("$.sku")), .init("price", .object([.init("$number", .string("$.price"))])),
            .init(
                "sizes",
                list(
                    "$.sizes",
                    .object([.init("eu", .object([.init("$string", .string("$.eu"))])), .init("stock", stock)]))),
        ])
        var output: [UInt8] = []
        guard case .routed = try router(list("$.l", shape)).route(event.record, of: event.batch, into: &output) else {
            Issue.record("not written")
            return
        }
        #expect(
            String(decoding: output, as: UTF8.self).hasPrefix(
                #"[{"id":"A-1","price":10.50,"sizes":[{"eu":"40","stock":[{"n":1},{"n":2}]}"#))
    }
}
