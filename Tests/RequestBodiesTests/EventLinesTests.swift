import Events
import RequestBodies
import Testing

@Suite struct EventLinesTests {
    @Test func `a request's events are its lines and what was refused`() {
        var lines = EventLines()
        lines.items = [0, 2]
        lines.refused = [(1, Refusal(reason: .notAnObject, detail: "an event is an object"))]
        #expect(lines.count == 3)
    }
}
