import Events
import Routing
import Testing

/// The router looks up routes by the event's type and name. It must find the same route as a search of
/// all routes in order.
@Suite struct RouteIndexTests {
    static let filters = [
        #"event = "A""#, #"type = "track" and event in ["A", "B"]"#, #"event = "B" or event = "C""#,
        #"event in ["C", null]"#, #"type = "page""#, #"type != "track""#, #"!(event = "A")"#, #"event != "B""#,
        #"type in ["identify", "page"] or event = "D""#, #"properties.x = 1"#, #"event = "A" and properties.x = 2"#,
        #"event = "D" or properties.x = 3"#, #"event = "A" and event = "B""#, "true", "false", #"event = "Café""#,
        #"event in []"#, #"event = 5"#, #"userId = "u""#, #"contains(event, "A")"#,
    ]
    static let events = [
        #"{"type":"track","event":"A","userId":"u","properties":{"x":1}}"#,
        #"{"type":"track","event":"A","userId":"v","properties":{"x":2}}"#,
        #"{"type":"track","event":"B","userId":"u"}"#,
        #"{"type":"track","event":"C","userId":"v","properties":{"x":3}}"#,
        #"{"type":"track","event":"D","userId":"v"}"#, #"{"type":"track","event":"\u0041","userId":"v"}"#,
        #"{"type":"track","event":"other","userId":"v"}"#, #"{"type":"track","event":"Café","userId":"v"}"#,
        #"{"type":"page","name":"A","userId":"v"}"#, #"{"type":"identify","userId":"u","traits":{}}"#,
    ]

    @Test(arguments: events) func `the first matching route is found`(_ json: String) throws {
        let event = SampleEvent(json)
        let routes = try Self.filters.enumerated().map { number, text in
            DestinationRouter.Route(
                filter: try Filter(parsing: text), transforms: try transforms("- set: { route: \(number) }"))
        }
        for first in routes.indices {
            // Rotates the routes, so that each comes first once and others come before each.
            let order = Array(routes.indices[first...]) + Array(routes.indices[..<first])
            let router = DestinationRouter(
                name: "out", routes: order.map { routes[$0] }, journal: [UInt8](repeating: 0, count: 16))
            var output: [UInt8] = []
            _ = router.route(event.record, of: event.batch, into: &output)
            let taken = order.first { event.passes(routes[$0].filter) }
            let expected = try #require(taken)
            #expect(
                String(decoding: output, as: UTF8.self).contains("\"route\":\(expected)}")
                    || String(decoding: output, as: UTF8.self).contains("\"route\":\(expected),"),
                "not routed by \(Self.filters[expected]), in an order that begins with \(Self.filters[first])")
        }
    }

    @Test func `an event that matches no route is filtered`() throws {
        let filters = [#"event = "A""#, #"type = "page" and userId = "u""#, "false"]
        let router = DestinationRouter(
            name: "out", routes: try filters.map { .init(filter: try Filter(parsing: $0), transforms: []) },
            journal: [UInt8](repeating: 0, count: 16))
        for json in Self.events where !json.contains("\"A\"") && !json.contains("u0041") {
            let event = SampleEvent(json)
            var output: [UInt8] = []
            #expect(router.route(event.record, of: event.batch, into: &output) == .filtered(reason: "no_route"))
            #expect(output.isEmpty)
        }
    }
}
