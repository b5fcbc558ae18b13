import DaemonConfiguration
import TestSupport
import Testing
import TrackingPlan

/// Reads a plan as `penstock plan check` does.
func readPlan(_ text: String) throws -> PlanFileResult {
    let directory = try TemporaryDirectory()
    return PlanFileResult.load(try directory.write("plan.yaml", text))
}

/// Errors in a plan, each with its place.
@Suite struct PlanErrorTests {
    @Test func `all errors in a plan are reported together, each at its place`() throws {
        let result = try readPlan(
            """
            on_violation: fladg
            events:
              Order:
                propertys: {}
                properties:
                  id: { type: strnig }
                  code: { type: string, pattern: "a(b" }
                  total: { type: number, minimum: 5, maximum: 1 }
                  kind: { type: integer, enum: [1, 2.5, x, 1] }
              "": {}
            identify: { traits: [ email ] }
            """)
        #expect(result.plan == nil)
        let places = result.diagnostics.map { "\($0.place.line):\($0.place.column)" }
        #expect(places == ["1:15", "4:5", "6:19", "7:39", "8:39", "9:40", "9:45", "9:48", "10:3", "11:21"])
    }

    @Test(arguments: [
        ("minimum: 1", "type: string", "\"minimum\" is allowed only for type integer, number"),
        ("pattern: a", "type: integer", "\"pattern\" is allowed only for type string"),
        ("enum: [a]", "type: boolean", "\"enum\" is allowed only for type string, integer, number"),
        ("items: string", "type: object", "\"items\" is allowed only for type array"),
        ("properties: { a: string }", "type: array", "\"properties\" is allowed only for type object"),
        ("pattern: a", "description: no type", "\"pattern\" is allowed only for type string"),
        ("enum: []", "type: string", "\"enum\" has no values"),
        ("enum: [a, b, a]", "type: string", "\"a\" occurs twice in enum"),
        ("enum: [null]", "type: string", "a value of enum must be a text or a number, not nothing"),
        ("minimum: low", "type: number", "\"minimum\" must be a number"),
        ("required: perhaps", "type: number", "\"required\" must be true or false"),
        ("items: { type: string, required: true }", "type: array", "items cannot be required"),
    ])
    func `a contradictory rule is an error`(_ rule: String, _ other: String, _ message: String) throws {
        let result = try readPlan("events:\n  E:\n    properties:\n      p:\n        \(other)\n        \(rule)\n")
        #expect(result.diagnostics.map(\.message) == [message])
        #expect(result.diagnostics.allSatisfy { $0.place.line >= 5 })
    }

    @Test func `an error in a regular expression has its place inside the expression`() throws {
        let result = try readPlan(#"events: { E: { properties: { p: { type: string, pattern: "a(b" } } } }"#)
        let message = try #require(result.diagnostics.first?.message)
        #expect(message.hasPrefix("this is not a regular expression"))
        #expect(result.diagnostics.first?.place.column == 59)
    }

    @Test func `a file without events is not a plan`() throws {
        #expect(try readPlan("").diagnostics.map(\.message) == ["the file has no plan"])
        #expect(try readPlan("name: Shop").diagnostics.map(\.message) == ["the plan has no events"])
    }

    @Test func `an event has only the named properties unless the plan allows additional ones`() throws {
        let plan = try #require(
            try readPlan(
                "events: { A: { properties: { o: object, p: { type: object, properties: { q: string } } } }, B: { additional: true } }"
            ).plan)
        let events = try #require(plan.events)
        #expect(events.map(\.properties.additional) == [false, true])
        guard case .object(let free) = events[0].properties.list[0].value,
            case .object(let closed) = events[0].properties.list[1].value
        else { throw UnexpectedType() }
        #expect(free.additional && !closed.additional)
        #expect(try #require(try readPlan("additional: true\nevents: { A: }").plan?.events)[0].properties.additional)
    }

    private struct UnexpectedType: Error {}
}
