import Delivery
import Destinations
import TestSupport
import Testing

/// Every number, time and size in a service's response with every extreme value: in the status line, in each header
/// that is read, and at each place of a body that a rule reads.
@Suite struct ExtremeResponseTests {
    private static let end = "Content-Length: 0\r\n\r\n"

    private static let places: [(name: String, response: @Sendable (String) -> String)] = [
        ("the status", { "HTTP/1.1 \($0) Reason\r\n" + end }),
        ("the version", { "HTTP/\($0) 200 OK\r\n" + end }),
        ("Retry-After", { "HTTP/1.1 503 Reason\r\nRetry-After: \($0)\r\n" + end }),
        ("Content-Length", { "HTTP/1.1 200 OK\r\nContent-Length: \($0)\r\n\r\n{}" }),
        ("a second Content-Length", { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: \($0)\r\n\r\n{}" }),
        ("a chunk's size", { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\($0)\r\n{}\r\n0\r\n\r\n" }),
        ("Keep-Alive", { "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=\($0), max=\($0)\r\n" + end }),
        ("Date", { "HTTP/1.1 503 Reason\r\nDate: \($0)\r\nRetry-After: \($0)\r\n" + end }),
        ("index", { body(#"{"failed":[{"index":\#($0),"code":400}]}"#) }),
        ("index as text", { body(#"{"failed":[{"index":"\#($0)","code":400}]}"#) }),
        ("code", { body(#"{"failed":[{"index":1,"code":\#($0)}]}"#) }),
        ("wait of an item", { body(#"{"failed":[{"index":1,"code":429,"wait":\#($0)}]}"#) }),
        ("wait as text", { body(#"{"failed":[{"index":1,"code":429,"wait":"\#($0)"}]}"#) }),
        ("wait of the response", { body(#"{"wait":\#($0),"failed":[{"index":1,"code":429}]}"#) }),
        ("bare numbers", { body(#"{"failed":[\#($0),\#($0)]}"#) }),
    ]

    private static func body(_ json: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(json.utf8.count)\r\n\r\n\(json)"
    }

    private static func options(_ url: String) -> HTTPOptions {
        var items = ResponseRule.Items(lists: [ResponsePath("failed")])
        items.index = ResponsePath("index")
        items.code = ResponsePath("code")
        items.verdicts = [.range(429...429): .retry, .range(.min ... -1): .split, .range(500...(.max)): .retry]
        var rule = ResponseRule()
        rule.statuses = [200...200]
        rule.items = items
        rule.retryAfter = ResponsePath("wait")
        var options = HTTPOptions(url: url, version: "1")
        options.format = .ndjson
        options.timeout = .seconds(15)
        options.responseRules = [rule]
        return options
    }

    @Test(arguments: places.map(\.name)) func `an extreme value is read or ignored`(place: String) throws {
        let response = try #require(Self.places.first { $0.name == place }).response
        let values = Extremes.all
        let server = try ScriptedServer(values.map { .raw(response($0)) } + [.raw("HTTP/1.1 200 OK\r\n" + Self.end)])
        defer { server.stop() }
        let harness = try HTTPHarness(Self.options(server.url))
        defer { harness.stop() }
        let batch = outbound([#"{"a":1}"#, #"{"b":2}"#])
        for value in values {
            let settlement = try harness.deliver(batch)
            let outcomes =
                switch settlement {
                case .all(let outcome): [outcome]
                case .each(let outcomes): outcomes
                }
            for case .retry(_, let wait?, _) in outcomes {
                #expect((.zero...RetryAfter.longest).contains(wait), "\(value)")
            }
        }
    }

    @Test(arguments: Extremes.all) func `a Retry-After is at least zero and at most the longest wait`(text: String) {
        for wallClock in [Int64.min, -1, 0, 1_767_323_045_000_000_000, .max] {
            guard let wait = RetryAfter.parse(text, wallClock: wallClock) else { continue }
            #expect((.zero...RetryAfter.longest).contains(wait))
        }
    }
}
