import Control
import Testing

/// The query of `GET /tap`, and the lines of its stream that are no records.
@Suite struct TapOrderTests {
    @Test(arguments: [
        TapOrder(stages: [.accepted]), TapOrder(stages: Set(TapOrder.Stage.allCases), destination: "a&b=c"),
        TapOrder(stages: [.sent], destination: "ü", condition: "event = \"x\" and y", limit: .max),
        TapOrder(stages: [.refused], rate: 1), TapOrder(stages: [.refused], rate: TapOrder.rates.upperBound),
    ]) func `an order survives its query`(order: TapOrder) throws {
        #expect(try TapOrder(query: order.query) == order)
    }

    @Test func `a query without a stage asks for accepted events, or for what a destination was given`() throws {
        #expect(try TapOrder(query: [:]).stages == [.accepted])
        #expect(try TapOrder(query: ["destination": "a"]).stages == [.sent])
    }

    @Test(arguments: [
        ["limit": "0"], ["limit": "-1"], ["limit": "9223372036854775808"], ["limit": "1 "], ["stage": ""],
        ["rate": "0"], ["rate": "5001"], ["rate": "-1"], ["rate": "9223372036854775808"], ["rate": ""],
        ["stage": ","], ["stage": "accepted,Sent"], ["stage": "accepted,accepted,accepted,accepted,accepted,x"],
    ]) func `an invalid query is refused`(query: [String: String]) {
        #expect(throws: TapOrder.Fault.self) { try TapOrder(query: query) }
    }

    @Test func `a notice is told from a record`() {
        let notice = TapNotice(missed: .max, ended: "the daemon \"stops\"\n")
        #expect(TapNotice(notice.line) == notice)
        #expect(!notice.line.contains(10))
        #expect(TapNotice(Array(#"{"stage":"accepted","missed":1}"#.utf8)) == nil)
        #expect(TapNotice(Array("nonsense".utf8)) == nil)
    }
}
