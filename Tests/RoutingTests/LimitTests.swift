import Testing

@testable import Routing

/// The limits of a service. A problem is reported exactly when the output breaks a limit.
@Suite("Limits")
struct LimitTests {
    private static let event =
        #"{"name":"Order \"1\"","n":12.5,"none":null,"at":1769846400000,"when":"2026-01-31T08:00:00Z","tags":["a","bb"],"params":{"a_1":"é\u00e9é","b-2":{"x":1}}}"#
    /// 2026-01-31T08:00:00Z
    private static let time: Int64 = 1_769_846_400_000_000_000

    private func problem(_ path: String, _ change: (inout OutputLimit) throws -> Void) rethrows -> String? {
        var limit = OutputLimit()
        limit.pathText = path
        try change(&limit)
        return LimitSet([limit]).problem(with: Self.event.utf8.span, at: Self.time)
    }

    @Test
    func `the length of a text or number is counted in characters, with escapes decoded`() {
        #expect(problem("params.a_1") { $0.maximumLength = 3 } == nil)
        #expect(problem("params.a_1") { $0.maximumLength = 2 } == "params.a_1 has 3 characters; at most 2 are allowed")
        #expect(problem("n") { $0.minimumLength = 5 } == "n has 4 characters; at least 5 are required")
        #expect(problem("name") { $0.maximumLength = 9 } == nil)
        #expect(problem("params") { $0.maximumLength = 1 } == nil, "an object has no length")
    }

    @Test
    func `a pattern must match the whole text, also for the names of members`() throws {
        #expect(try problem("name") { $0.pattern = try TextPattern("Order") } == "name must match Order")
        #expect(try problem("name") { $0.pattern = try TextPattern("Order|Order \"[0-9]\"") } == nil)
        #expect(
            try problem("params") { $0.names = try TextPattern("[a-z0-9_]+") }
                == #"params has the name "b-2"; names must match [a-z0-9_]+"#)
        #expect(
            try problem("params.*") { $0.names = try TextPattern("y") }
                == #"params.b-2 has the name "x"; names must match y"#)
    }

    @Test
    func `members, items and bytes are counted, and a star stands for every member except the exceptions`() {
        #expect(problem("tags") { $0.maximumMembers = 1 } == "tags has 2 members; at most 1 are allowed")
        #expect(problem("tags.*") { $0.maximumLength = 1 } == "tags.1 has 2 characters; at most 1 are allowed")
        #expect(problem("params") { $0.maximumMembers = 2 } == nil)
        #expect(problem("") { $0.maximumMembers = 6 } == "it has 7 members; at most 6 are allowed")
        #expect(
            problem("") { $0.maximumSize = 100 } == "it has \(Self.event.utf8.count) bytes; at most 100 are allowed")
        #expect(
            problem("params.*") {
                $0.maximumLength = 1
                $0.exceptions = ["a_1"]
            } == nil)
    }

    @Test
    func `a missing value breaks no limit unless it is required`() {
        #expect(problem("none") { $0.minimumLength = 1 } == nil)
        #expect(problem("gone.deep") { $0.minimumLength = 1 } == nil)
        #expect(problem("none") { $0.isRequired = true } == "none is null")
        #expect(problem("params.gone.deep") { $0.isRequired = true } == "params.gone.deep is missing")
        #expect(problem("params.b-2.x") { $0.isRequired = true } == nil)
        #expect(problem("name") { $0.refused = ["Order \"1\""] } == "name is a value that the service rejects")
    }

    @Test
    func `a time is compared with this machine's clock in the service's unit`() {
        #expect(
            problem("when") {
                $0.oldest = .zero
                $0.newest = .zero
            } == nil)
        var limit = OutputLimit()
        limit.path = ["at"]
        limit.unit = .milliseconds
        limit.oldest = .seconds(3600)
        limit.newest = .seconds(90)
        func at(_ seconds: Int64) -> String? {
            LimitSet([limit]).problem(with: Self.event.utf8.span, at: Self.time + seconds * 1_000_000_000)
        }
        #expect(at(3600) == nil && at(-90) == nil)
        #expect(at(3601) == "at is more than 1 h ago")
        #expect(at(-91) == "at is more than 90 s ahead")
        limit.unit = .rfc3339
        #expect(at(0) == "at is not a time in rfc3339")
    }
}
