import Delivery
import Platform
import TestSupport
import Testing

@testable import Destinations

/// A destination that must obtain a token before it sends. Real requests to two servers.
@Suite struct CredentialKeeperTests {
    private struct Rig {
        let tokens: ScriptedServer
        let service: ScriptedServer
        let harness: HTTPHarness
        let clock = FakeClock()

        init(
            _ tokens: [ScriptedServer.Reply], _ service: [ScriptedServer.Reply], secret: String = "client-secret",
            _ change: (inout HTTPOptions) -> Void = { _ in }
        ) throws {
            self.tokens = try ScriptedServer(tokens)
            self.service = try ScriptedServer(service)
            var options = HTTPOptions(url: self.service.url, version: "1")
            var settings = OAuth2Provider.Settings(url: self.tokens.url, grant: .clientCredentials)
            settings.clientID = "penstock"
            settings.clientSecret = secret
            options.signers = [BearerSigner()]
            options.credentials = OAuth2Provider(settings)
            options.secrets = [secret]
            change(&options)
            harness = try HTTPHarness(options, clock: clock)
        }

        func stop() {
            harness.stop()
            tokens.stop()
            service.stop()
        }

        var sent: [String?] { service.requests.map { $0.headers["authorization"] } }
    }

    private static func token(_ name: String, _ seconds: Int = 3600) -> ScriptedServer.Reply {
        .status(200, body: #"{"access_token":"\#(name)","token_type":"Bearer","expires_in":\#(seconds)}"#)
    }

    @Test func `one token serves all requests until it is about to end`() throws {
        let rig = try Rig([Self.token("one"), Self.token("two")], [.status(200)])
        defer { rig.stop() }
        let settled = (0..<10).map { _ in rig.harness.offer(outbound(["{}"])) }
        for one in settled { #expect(try one.wait().isDelivered) }
        #expect(rig.tokens.requests.count == 1)
        #expect(rig.sent == Array(repeating: "Bearer one", count: 10))
        // Four minutes before its end it is renewed, while it still serves.
        rig.clock.advance(.seconds(3600 - 240))
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        #expect(eventually { rig.tokens.requests.count == 2 })
        #expect(rig.sent.last == "Bearer one")
        // After its end, the new one serves.
        rig.clock.advance(.seconds(241))
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        #expect(rig.sent.last == "Bearer two" && rig.tokens.requests.count == 2)
    }

    @Test func `after an idle time beyond its end, a batch waits for a new token`() throws {
        let rig = try Rig([Self.token("one", 60), Self.token("two")], [.status(200)])
        defer { rig.stop() }
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        rig.clock.advance(.seconds(61))
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        #expect(rig.sent == ["Bearer one", "Bearer two"])
    }

    @Test func `a request whose token is refused is sent again with a new one, once`() throws {
        let rig = try Rig(
            [Self.token("one"), Self.token("two")], [.status(200), .status(401), .status(200), .status(401)])
        defer { rig.stop() }
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        rig.clock.advance(.seconds(60))
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        #expect(rig.sent == ["Bearer one", "Bearer one", "Bearer two"])
        // A new token that is refused is an operator's matter. It does not count as an attempt.
        guard case .hold = try rig.harness.outcome(of: outbound(["{}"])) else {
            Issue.record("not held")
            return
        }
        #expect(rig.sent.count == 4)
        rig.clock.advance(.seconds(60))
        guard case .hold = try rig.harness.outcome(of: outbound(["{}"])) else {
            Issue.record("not held")
            return
        }
        #expect(rig.sent.count == 6 && rig.tokens.requests.count == 3)
    }

    @Test func `a 403 that a rule explains says nothing about the token`() throws {
        let rig = try Rig([Self.token("one")], [.status(200), .status(403, body: "quota")]) { options in
            var rule = ResponseRule()
            rule.statuses = [403...403]
            rule.words = ["quota"]
            rule.verdict = .retry
            options.responseRules = [rule]
        }
        defer { rig.stop() }
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        rig.clock.advance(.seconds(60))
        guard case .retry = try rig.harness.outcome(of: outbound(["{}"])) else {
            Issue.record("not a retry")
            return
        }
        #expect(rig.sent.count == 2 && rig.tokens.requests.count == 1)
    }

    @Test func `several requests whose token is refused are all sent again`() throws {
        let rig = try Rig(
            [Self.token("one"), Self.token("two")],
            // By token, not in turn: the first may be sent again before the last is sent.
            [.status(200), .respond { .status($0.headers["authorization"] == "Bearer one" ? 401 : 200) }]
        ) {
            $0.format = .single
            $0.requests = 3...3
        }
        defer { rig.stop() }
        _ = try rig.harness.deliver(outbound(["{}"]))
        rig.clock.advance(.seconds(60))
        let settlement = try rig.harness.deliver(outbound(["1", "2", "3"]))
        guard case .each(let outcomes) = settlement, outcomes == [.delivered, .delivered, .delivered] else {
            Issue.record("\(settlement)")
            return
        }
        #expect(rig.sent.count { $0 == "Bearer two" } == 3 && rig.tokens.requests.count == 2)
        #expect(rig.sent.count <= 7, "none is sent more than twice: \(rig.sent)")
    }

    @Test func `keys that have already ended are not asked for again and again`() throws {
        let ended = #"{"AccessKeyId":"A","SecretAccessKey":"S","Token":"T","Expiration":"2020-01-01T00:00:00Z"}"#
        let tokens = try ScriptedServer([.status(200, body: ended)])
        let service = try ScriptedServer([.status(200)])
        defer {
            tokens.stop()
            service.stop()
        }
        var options = HTTPOptions(url: service.url, version: "1")
        options.signers = [AWSSigner(region: "r", service: "s")]
        options.credentials = AWSCredentialChain(
            environment: ["AWS_CONTAINER_CREDENTIALS_FULL_URI": tokens.url], region: "r")
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        guard case .retry(let reason, _, _) = try harness.outcome(of: outbound(["{}"])) else {
            Issue.record("not a retry")
            return
        }
        #expect(reason.contains("already ended; check this machine's clock"))
        #expect(tokens.requests.count == 1 && service.requests.isEmpty)
    }

    @Test func `a clock that is set back keeps no refused token`() throws {
        let rig = try Rig([Self.token("one"), Self.token("two")], [.status(200), .status(401), .status(200)])
        defer { rig.stop() }
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        rig.clock.advance(.seconds(-7200))
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        #expect(rig.sent == ["Bearer one", "Bearer one", "Bearer two"])
    }

    @Test(arguments: [
        (
            ScriptedServer.Reply.status(
                401, body: #"{"error":"invalid_client","error_description":"not client-secret"}"#),
            Outcome.hold(reason: "no access token: HTTP 401, invalid_client: not [hidden]")
        ), (.status(503), .retry(reason: "no access token: HTTP 503")),
        (.status(200, body: "{}"), .retry(reason: "no access token: the answer has no usable access_token")),
    ])
    func `without a token nothing is sent, and the reason names no secret`(
        reply: ScriptedServer.Reply, expected: Outcome
    ) throws {
        let rig = try Rig([reply, Self.token("one")], [.status(200)])
        defer { rig.stop() }
        #expect(try rig.harness.outcome(of: outbound(["{}"])) == expected)
        #expect(rig.service.requests.isEmpty)
        // The next attempt asks again.
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        #expect(rig.sent == ["Bearer one"])
    }

    @Test func `a failing renewal does not stop a token that still serves`() throws {
        let rig = try Rig([Self.token("one", 1000), .status(503), Self.token("two")], [.status(200)])
        defer { rig.stop() }
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        rig.clock.advance(.seconds(800))
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        #expect(eventually { rig.tokens.requests.count == 2 })
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        // A pause lies between two attempts.
        #expect(rig.tokens.requests.count == 2)
        rig.clock.advance(.seconds(11))
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        #expect(eventually { rig.tokens.requests.count == 3 })
        rig.clock.advance(.seconds(300))
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
        #expect(rig.sent == ["Bearer one", "Bearer one", "Bearer one", "Bearer one", "Bearer two"])
    }

    @Test func `a destination that closes ends the wait for a token`() throws {
        let rig = try Rig([.hang], [.status(200)])
        defer { rig.stop() }
        let settled = rig.harness.offer(outbound(["{}"]))
        #expect(eventually { rig.tokens.requests.count == 1 })
        rig.harness.inTurn { $0.close() }
        guard case .all(.retry) = try settled.wait() else {
            Issue.record("not settled as a retry")
            return
        }
    }

    @Test(arguments: [ScriptedServer.Reply.huge(1 << 20), .reset, .endlessHeader, .resetInMidResponse()])
    func `a token service that fails is an error that may pass`(reply: ScriptedServer.Reply) throws {
        let rig = try Rig([reply, Self.token("one")], [.status(200)])
        defer { rig.stop() }
        guard case .retry(let reason, _, _) = try rig.harness.outcome(of: outbound(["{}"])) else {
            Issue.record("not a retry")
            return
        }
        #expect(reason.contains("credential"))
        #expect(try rig.harness.deliver(outbound(["{}"])).isDelivered)
    }

    @Test func `an answer that repeats the token is shown without it`() throws {
        let rig = try Rig([Self.token("very-secret-token")], [.status(422, body: "bad: Bearer very-secret-token")])
        defer { rig.stop() }
        guard case .rejected(_, let answer) = try rig.harness.outcome(of: outbound(["{}"])) else {
            Issue.record("not rejected")
            return
        }
        #expect(answer == "bad: Bearer [hidden]")
    }

    @Test(arguments: [HTTPOptions.Method.GET, .DELETE])
    func `a method without a body sends the event in the URL alone`(method: HTTPOptions.Method) throws {
        let service = try ScriptedServer([.status(200)])
        defer { service.stop() }
        var options = HTTPOptions(url: service.url, version: "1")
        options.method = method
        #expect(HTTPDestination.problems(options).first?.error.problem.contains("add format: single") == true)
        options.format = .single
        options.compression = .gzip
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        for _ in 0..<2 { #expect(try harness.deliver(outbound(["{}"])).isDelivered) }
        #expect(service.requests.map(\.line) == Array(repeating: "\(method.rawValue) /in HTTP/1.1", count: 2))
        for request in service.requests {
            #expect(request.body.isEmpty && request.headers["content-type"] == nil)
            #expect(request.headers["content-encoding"] == nil && (request.headers["content-length"] ?? "0") == "0")
        }
    }
}
