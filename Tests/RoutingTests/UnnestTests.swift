import DaemonConfiguration
import Events
import Testing

@testable import Routing

@Suite("Events of a list's items")
struct UnnestTests {
    private let order = #"""
        {"properties":{"total":3,"products":[ {"sku":"a"} , "b",[1] ],"id":1},"messageId":"m","userId":"u","type":"track","event":"Order"}
        """#

    /// The event for one item.
    private func part(_ item: String, id: String, event: String = "Order") -> String {
        #"{"properties":{"total":3,"products":\#(item),"id":1},"messageId":"\#(id)","#
            + #""userId":"u","type":"track","event":"\#(event)"}"#
    }

    @Test
    func `each item takes the list's place, and each event has its own message id`() throws {
        #expect(
            try parts(order, "- unnest: properties.products") == [
                part(#"{"sku":"a"}"#, id: "m:properties.products:1"), part(#""b""#, id: "m:properties.products:2"),
                part("[1]", id: "m:properties.products:3"),
            ])
    }

    @Test
    func `the event itself can be kept, and the others get their own name`() throws {
        #expect(
            try parts(order, #"- unnest: { list: properties.products, keep: true, event: "the \"item\"" }"#) == [
                order, part(#"{"sku":"a"}"#, id: "m:properties.products:1", event: #"the \"item\""#),
                part(#""b""#, id: "m:properties.products:2", event: #"the \"item\""#),
                part("[1]", id: "m:properties.products:3", event: #"the \"item\""#),
            ])
    }

    @Test(arguments: [
        #"{"type":"track","event":"A","messageId":"m","userId":"u"}"#,
        #"{"type":"track","event":"A","messageId":"m","userId":"u","properties":{"products":[]}}"#,
        #"{"type":"track","event":"A","messageId":"m","userId":"u","properties":{"products":[ ]}}"#,
        #"{"type":"track","event":"A","messageId":"m","userId":"u","properties":{"products":{"a":[1]}}}"#,
        #"{"type":"track","event":"A","messageId":"m","userId":"u","properties":{"products":"[1]"}}"#,
        #"{"type":"track","event":"A","messageId":"m","userId":"u","properties":null}"#,
    ])
    func `an event without items is unchanged`(_ event: String) throws {
        #expect(try parts(event, "- unnest: { list: properties.products, keep: true }") == [event])
    }

    @Test
    func `an event without a message id gets ids of the journal`() throws {
        let event = #"{"type":"page","userId":"u","l":[1,2]}"#
        let derived = MessageID.derived(journal: [UInt8](repeating: 1, count: 16), position: 7)
        #expect(
            try parts(event, "- unnest: { list: l, event: Only for tracks }") == [
                #"{"type":"page","userId":"u","l":1,"messageId":"\#(derived)"}"#,
                #"{"type":"page","userId":"u","l":2,"messageId":"\#(derived):1"}"#,
            ])
    }

    @Test
    func `lists in lists make an event of each pair, and later transforms see the items`() throws {
        let event = #"{"type":"track","event":"A","messageId":"m","userId":"u","l":[{"k":[1,2]},{"k":[3]}]}"#
        func part(_ item: String, id: String) -> String {
            #"{"type":"track","event":"A","messageId":"\#(id)","userId":"u","l":\#(item)}"#
        }
        let steps = """
            - unnest: l
            - unnest: l.k
            - drop: [l.k]
              where: l.k = 2
            """
        #expect(
            try parts(event, steps) == [
                part(#"{"k":1}"#, id: "m:l:1:l.k:1"), part("{}", id: "m:l:1:l.k:2"),
                part(#"{"k":3}"#, id: "m:l:2:l.k:1"),
            ])
    }

    @Test
    func `a list that would make too much rejects the event`() throws {
        let items = Array(repeating: "1", count: 50).joined(separator: ",")
        let event = #"{"type":"track","event":"A","messageId":"m","userId":"u","l":[\#(items)]}"#
        let size = event.utf8.count
        #expect(try parts(event, "- unnest: { list: l, output: \(50 * size + 1000)B }").count == 50)
        #expect(
            try parts(event, "- unnest: { list: l, output: 2KiB }") == [
                #"rejected: unnest: the events of the list "l" have more than 2048 bytes (unnest.output)"#
            ])
    }

    @Test
    func `errors name the key`() {
        #expect(messages("- unnest: { list: properties.products, event: '' }") == [#"8:53 "event" has no value"#])
        #expect(messages("- unnest: {}") == [#"8:17 "unnest" needs "list""#])
    }

    private func parts(_ event: String, _ yaml: String) throws -> [String] {
        let router = try router(yaml)
        let sample = SampleEvent(event)
        var output: [UInt8] = []
        switch router.route(sample.record, of: sample.batch, into: &output) {
        case .routed: return [String(decoding: output, as: UTF8.self)]
        case .split(let parts): return parts.map { String(decoding: output[$0.json], as: UTF8.self) }
        case .filtered(let reason): return ["filtered: \(reason)"]
        case .rejected(let reason): return ["rejected: \(reason)"]
        }
    }
}
