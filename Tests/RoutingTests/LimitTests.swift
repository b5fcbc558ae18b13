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

    // MARK: Limits that mend

    /// What is sent instead; nil: the event itself.
    private func mended(_ event: String = Self.event, _ path: String, _ change: (inout OutputLimit) throws -> Void)
        rethrows -> String?
    {
        var limit = OutputLimit()
        limit.pathText = path
        limit.isMending = true
        try change(&limit)
        let set = LimitSet([limit])
        let changed = set.mended(event.utf8.span, at: Self.time)
        if let changed { #expect(set.problem(with: changed.span, at: Self.time) == nil) }
        return changed.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test
    func `a text that is too long is cut between two characters`() {
        let event = #"{"a":"\u00e9é€x","b":{"c":"12345","d":[12345]},"e":"","f":"\"\n"}"#
        #expect(mended(event, "a") { $0.maximumLength = 4 } == nil)
        #expect(mended(event, "a") { $0.maximumLength = 3 }?.contains(#""a":"éé€","b""#) == true)
        #expect(mended(event, "a") { $0.maximumLength = 0 }?.contains(#""a":"","b""#) == true)
        #expect(mended(event, "f") { $0.maximumLength = 1 }?.contains(#""f":"\""}"#) == true)
        // A number cannot be cut.
        #expect(mended(event, "b.*.*") { $0.maximumLength = 4 }?.contains(#""b":{"c":"12345","d":[]}"#) == true)
        #expect(mended(event, "b.*") { $0.maximumLength = 4 }?.contains(#""b":{"c":"1234","d":[12345]}"#) == true)
    }

    @Test
    func `of too many members the first stay, and those with other names are removed`() throws {
        let event = #"{"p":{"a":1,"B":{"x":[2]},"c":null,"d":4},"l":[1,2,3]}"#
        #expect(mended(event, "p") { $0.maximumMembers = 4 } == nil)
        #expect(mended(event, "p") { $0.maximumMembers = 2 } == #"{"p":{"a":1,"B":{"x":[2]}},"l":[1,2,3]}"#)
        #expect(mended(event, "p") { $0.maximumMembers = 0 } == #"{"p":{},"l":[1,2,3]}"#)
        #expect(mended(event, "l") { $0.maximumMembers = 2 }?.hasSuffix(#""d":4},"l":[1,2]}"#) == true)
        try #expect(
            mended(event, "p") {
                $0.names = try TextPattern("[a-z]")
                $0.maximumMembers = 2
            } == #"{"p":{"a":1,"c":null},"l":[1,2,3]}"#)
        #expect(mended(event, "") { $0.maximumMembers = 1 } == #"{"p":{"a":1,"B":{"x":[2]},"c":null,"d":4}}"#)
    }

    @Test
    func `a value that breaks a limit in another way is removed, but not the event`() throws {
        let event = #"{"a":{"x":"bad","y":"good"},"b":"0123456789"}"#
        #expect(mended(event, "a.*") { $0.refused = ["bad"] } == #"{"a":{"y":"good"},"b":"0123456789"}"#)
        try #expect(mended(event, "b") { $0.pattern = try TextPattern("[a-z]*") } == #"{"a":{"x":"bad","y":"good"}}"#)
        #expect(mended(event, "b") { $0.maximumSize = 4 } == #"{"a":{"x":"bad","y":"good"}}"#)
        #expect(mended(event, "") { $0.maximumSize = 4 } == nil)
        #expect(mended("{}", "a") { $0.isRequired = true } == nil)
    }

    @Test
    func `limits that mend are applied in their order, and only they change the event`() {
        var (cut, count, check) = (OutputLimit(), OutputLimit(), OutputLimit())
        (cut.pathText, cut.maximumLength, cut.isMending) = ("*", 2, true)
        (count.maximumMembers, count.isMending) = (2, true)
        (check.pathText, check.minimumLength) = ("a", 3)
        let set = LimitSet([check, cut, count])
        let changed = set.mended(#"{"a":"123","b":"4","c":"567"}"#.utf8.span, at: Self.time)
        #expect(changed.map { String(decoding: $0, as: UTF8.self) } == #"{"a":"12","b":"4"}"#)
        let problem = changed.flatMap { set.problem(with: $0.span, at: Self.time) }
        #expect(problem == "a has 2 characters; at least 3 are required")
        #expect(set.mended(#"{"a":"12"}"#.utf8.span, at: Self.time) == nil)
    }
}
