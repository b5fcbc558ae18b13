import Delivery
import Destinations
import Events
import Glibc
import Platform
import TestSupport
import Testing

/// Faults of servers and networks, and the outcomes of the events.
@Suite struct HTTPFaultTests {
    private let batch = outbound([#"{"a":1}"#, #"{"b":2}"#])

    private func options(_ url: String) -> HTTPOptions {
        var options = HTTPOptions(url: url, version: "1")
        options.format = .ndjson
        options.timeout = .seconds(15)
        return options
    }

    /// The outcome of each delivery of the same batch.
    private func outcomes(
        _ script: [ScriptedServer.Reply], deliveries: Int = 1, _ change: (inout HTTPOptions) -> Void = { _ in }
    ) throws -> ([Outcome], ScriptedServer) {
        let server = try ScriptedServer(script)
        defer { server.stop() }
        var options = options(server.url)
        change(&options)
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        return (try (0..<deliveries).map { _ in try harness.outcome(of: batch) }, server)
    }

    private func retryReason(_ outcome: Outcome?) -> String? {
        if case .retry(let reason, nil, _) = outcome { reason } else { nil }
    }

    @Test func `a request to a hanging server fails after the timeout`() throws {
        let began = SystemClock().now()
        let (outcomes, _) = try outcomes([.hang]) { $0.timeout = .milliseconds(200) }
        let took = SystemClock().now() - began
        #expect(retryReason(outcomes.first)?.contains("timed out") == true)
        #expect(took >= .milliseconds(200))
    }

    @Test func `a request with a trickling response fails after the timeout`() throws {
        let (outcomes, _) = try outcomes([.trickle()]) { $0.timeout = .milliseconds(300) }
        #expect(retryReason(outcomes.first)?.contains("timed out") == true)
    }

    @Test(arguments: [ScriptedServer.Reply.reset, .resetInMidResponse()])
    func `a connection reset is retried`(reply: ScriptedServer.Reply) throws {
        // libcurl itself retries once when a connection that it has used before is dead.
        let (outcomes, server) = try outcomes([reply, reply, .status(200)], deliveries: 1)
        #expect(retryReason(outcomes.first)?.hasPrefix("http://127.0.0.1:\(server.port): ") == true)
    }

    @Test func `a rejection counts even if the connection breaks after it`() throws {
        let (outcomes, _) = try outcomes([.resetInMidResponse(status: 413)])
        #expect(
            outcomes == [.tooLarge(reason: "HTTP 413: the request is too large for the service", answer: "only this")])
    }

    @Test func `a response is never used for the next request`() throws {
        let (outcomes, _) = try outcomes([.status(429, headers: ["Retry-After: 9"]), .reset, .reset], deliveries: 2)
        #expect(outcomes.first == .retry(reason: "HTTP 429, asked to wait 9 s", after: .seconds(9)))
        #expect(retryReason(outcomes.last)?.hasPrefix("http://127.0.0.1") == true)
    }

    @Test func `a Retry-After with a date is obeyed`() throws {
        let (outcomes, _) = try outcomes([.status(503, headers: ["retry-after: Fri, 01 Jan 2100 00:00:00 GMT"])])
        #expect(outcomes == [.retry(reason: "HTTP 503, asked to wait 604800 s", after: RetryAfter.longest)])
    }

    @Test func `a batch is delivered when the service recovers`() throws {
        let (outcomes, server) = try outcomes([.status(500), .status(503), .status(200)], deliveries: 3)
        #expect(outcomes == [.retry(reason: "HTTP 500"), .retry(reason: "HTTP 503"), .delivered])
        #expect(server.requests.map(\.text) == Array(repeating: "{\"a\":1}\n{\"b\":2}\n", count: 3))
    }

    @Test func `a rejected credential holds the destination`() throws {
        let (outcomes, _) = try outcomes([.status(401, body: "no such token: hunter2-hunter2")]) {
            $0.headers = [.init(name: "Authorization", value: "Bearer hunter2-hunter2")]
        }
        guard case .hold(let reason, let answer)? = outcomes.first else {
            Issue.record("not held: \(outcomes)")
            return
        }
        #expect(reason.hasPrefix("HTTP 401"))
        #expect(answer == "no such token: [hidden]")
    }

    @Test func `a secret in the URL is hidden where the service echoes it`() throws {
        let (outcomes, _) = try outcomes([.status(400, body: "api_secret hunter2-hunter2 of some-user? no")]) {
            $0.url = $0.url.replacing("://", with: "://some-user:x@") + "?v=1&api_secret=hunter2-hunter2"
        }
        #expect(outcomes == [.someRejected(reason: "HTTP 400", answer: "api_secret [hidden] of [hidden]? no")])
    }

    @Test func `a rejection keeps the response`() throws {
        let (outcomes, _) = try outcomes([.status(422, body: "{\"error\":\r\n\"no name\"}")])
        #expect(outcomes == [.rejected(reason: "HTTP 422", answer: "{\"error\": \"no name\"}")])
    }

    @Test func `a redirect is followed only if allowed`() throws {
        let target = try ScriptedServer([.status(200)])
        defer { target.stop() }
        let redirect = ScriptedServer.Reply.status(307, headers: ["Location: \(target.url)"])
        let (refused, _) = try outcomes([redirect])
        guard case .rejected(let reason, _)? = refused.first else {
            Issue.record("not rejected: \(refused)")
            return
        }
        #expect(reason.hasPrefix("HTTP 307: a redirect to http://127.0.0.1"))
        #expect(target.requests.isEmpty)
        let (followed, _) = try outcomes([redirect]) { $0.maximumRedirects = 1 }
        #expect(followed == [.delivered])
        #expect(target.requests.map(\.text) == ["{\"a\":1}\n{\"b\":2}\n"])
    }

    @Test func `a redirect within the service keeps the headers`() throws {
        let (outcomes, server) = try outcomes([.status(308, headers: ["Location: ../v2/in?x=1"]), .status(200)]) {
            $0.url = $0.url.replacing("://", with: "://user:word@").replacing("/in", with: "/v1/in")
            $0.headers = [.init(name: "X-Key", value: "hunter2-hunter2")]
            $0.maximumRedirects = 1
        }
        #expect(outcomes == [.delivered])
        #expect(server.requests.map(\.line) == ["POST /v1/in HTTP/1.1", "POST /v2/in?x=1 HTTP/1.1"])
        #expect(server.requests.last?.headers["x-key"] == "hunter2-hunter2")
        #expect(server.requests.last?.headers["authorization"] == "Basic dXNlcjp3b3Jk")
        #expect(server.requests.last?.text == "{\"a\":1}\n{\"b\":2}\n")
    }

    @Test func `a redirect to another host sends no credentials`() throws {
        let target = try ScriptedServer([.status(200)])
        defer { target.stop() }
        let location = target.url.replacing("://", with: "://evil:one@")
        let (outcomes, _) = try outcomes([.status(307, headers: ["Location: \(location)"])]) {
            $0.url = $0.url.replacing("://", with: "://user:word@")
            $0.headers = [
                .init(name: "X-Key", value: "hunter2-hunter2"), .init(name: "Authorization", value: "Bearer x"),
            ]
            $0.maximumRedirects = 2
        }
        #expect(outcomes == [.delivered])
        let request = try #require(target.requests.first)
        #expect(request.text == "{\"a\":1}\n{\"b\":2}\n")
        #expect(request.headers["content-type"] == "application/x-ndjson")
        #expect(request.headers["x-key"] == nil)
        #expect(request.headers["authorization"] == nil)
    }

    @Test func `a redirected destination uses its own URL for the next request`() throws {
        let (outcomes, server) = try outcomes(
            [.status(307, headers: ["Location: /elsewhere"]), .status(200), .status(200)], deliveries: 2
        ) { $0.maximumRedirects = 1 }
        #expect(outcomes == [.delivered, .delivered])
        #expect(server.requests.map(\.line) == ["POST /in HTTP/1.1", "POST /elsewhere HTTP/1.1", "POST /in HTTP/1.1"])
    }

    @Test func `a redirect to another protocol is never followed`() throws {
        let (outcomes, _) = try outcomes([.status(302, headers: ["Location: file:///etc/passwd"])]) {
            $0.maximumRedirects = 3
        }
        #expect(outcomes.first != .delivered)
    }

    @Test func `a redirect loop ends`() throws {
        let (outcomes, server) = try outcomes([.status(308, headers: ["Location: /in"])]) { $0.maximumRedirects = 3 }
        guard case .rejected? = outcomes.first else {
            Issue.record("not rejected: \(outcomes)")
            return
        }
        #expect(server.requests.count == 4)
    }

    @Test func `a huge response is not read to its end`() throws {
        let (outcomes, _) = try outcomes([.huge(1 << 30), .status(200)], deliveries: 2)
        #expect(outcomes == [.delivered, .delivered])
    }

    @Test func `an endless header is cut off`() throws {
        let (outcomes, _) = try outcomes([.endlessHeader])
        #expect(retryReason(outcomes.first) != nil)
    }

    @Test func `a connection closed while idle is replaced`() throws {
        let (outcomes, server) = try outcomes([.respondThenClose], deliveries: 5)
        #expect(outcomes == Array(repeating: .delivered, count: 5))
        #expect(server.requests.count == 5)
    }

    @Test func `a refused connection is retried`() throws {
        let (listener, port) = try ScriptedServer.listenAtFreePort()
        close(listener)
        let harness = try HTTPHarness(options("http://user:pass-word@127.0.0.1:\(port)/secret-path?token=abc"))
        defer { harness.stop() }
        let reason = try #require(retryReason(try harness.outcome(of: batch)))
        #expect(reason.hasPrefix("http://127.0.0.1:\(port): "))
        for secret in ["user", "pass-word", "secret-path", "abc"] { #expect(!reason.contains(secret)) }
    }

    @Test func `one event that is too large for a single request is rejected`() throws {
        let server = try ScriptedServer([.status(413), .status(200)])
        defer { server.stop() }
        var options = options(server.url)
        options.format = .single
        options.requests = 1...1
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        guard case .each(let outcomes) = try harness.deliver(batch) else {
            Issue.record("the single format must settle each event")
            return
        }
        #expect(outcomes == [.rejected(reason: "HTTP 413: the request is too large for the service"), .delivered])
    }

    @Test func `one event that breaks the service does not hold up the others`() throws {
        let server = try ScriptedServer([.status(500), .status(200)])
        defer { server.stop() }
        var options = options(server.url)
        options.format = .single
        options.requests = 1...1
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        guard case .each(let outcomes) = try harness.deliver(batch) else {
            Issue.record("the single format must settle each event")
            return
        }
        #expect(outcomes == [.retry(reason: "HTTP 500"), .delivered])
    }

    @Test func `an empty batch is delivered`() throws {
        let (listener, port) = try ScriptedServer.listenAtFreePort()
        defer { close(listener) }
        let harness = try HTTPHarness(options("http://127.0.0.1:\(port)/"))
        defer { harness.stop() }
        #expect(try harness.outcome(of: outbound([])) == .delivered)
    }
}
