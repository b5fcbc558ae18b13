import DaemonConfiguration
import Events
import Foundation
import Routing
import Testing

@Suite("Explanations")
struct TraceTests {
    private let event = SampleEvent(track(#""properties":{"plan":"pro","total":5}"#))

    @Test
    func `the trace shows which part of each route's filter was false, and the values that it saw`() throws {
        let routes = try [
            "type = 'page'", "type = 'track' and (properties.total > 10 or properties.plan = \"free\")",
            "!(event = 'X')",
        ].map {
            DestinationRouter.Route(name: $0, filter: try Filter(parsing: $0), transforms: [])
        }
        let trace = RouteTracer(name: "out", routes: routes).trace(event.record, of: event.batch)
        let answers = try #require(trace.events.first?.routes)
        #expect(answers.map(\.filter.isTrue) == [false, false, true])
        #expect(answers[1].filter.reasons.map(\.text) == ["properties.total > 10", "properties.plan = \"free\""])
        #expect(
            answers[1].filter.reasons.map(\.values) == [
                [.init(text: "properties.total", json: "5")], [.init(text: "properties.plan", json: "\"pro\"")],
            ])
        #expect(answers[2].filter.text == "!(event = \"X\")")
    }

    @Test
    func `the trace shows each transform's effect and the transform that dropped the event`() throws {
        let steps = try transforms(
            "[ { drop: [properties.plan] }, { set: { x: 1 }, where: properties.plan = \"pro\" }, { name_case: snake }, { sample: 0 } ]"
        )
        let trace = RouteTracer(name: "out", routes: [.init(filter: .always, transforms: steps)]).trace(
            event.record, of: event.batch)
        let after = track(#""properties":{"total":5}"#)
        #expect(
            trace.events.first?.steps.map(\.outcome) == [
                .made([after]), .passedOver, .made([after.replacing("Signed Up", with: "signed_up")]), .dropped,
            ])
        #expect(trace.events.first?.steps.map(\.name) == ["drop", "set", "name_case", "sample"])
        #expect(trace.events.first?.steps[1].filter?.isTrue == false)
    }

    @Test
    func `a filter written as text parses as the same filter`() throws {
        for text in [
            "a and (b or c) and !d", "(a = 1) = (b != 'x\"')", "a\\ b.0 in [1, 'x', null, true]",
            "!(match(lowercase(a), \"b*\") and length(c) >= -1.5)", "(a or b) and c or d",
        ] {
            let filter = try Filter(parsing: text)
            let trace = RouteTracer(name: "o", routes: [.init(filter: filter, transforms: [])]).trace(
                event.record, of: event.batch)
            let written = try #require(trace.events.first?.routes.first?.filter.text)
            let again = RouteTracer(name: "o", routes: [.init(filter: try Filter(parsing: written), transforms: [])])
                .trace(event.record, of: event.batch)
            #expect(again.events.first?.routes.first?.filter == trace.events.first?.routes.first?.filter)
        }
    }
}
