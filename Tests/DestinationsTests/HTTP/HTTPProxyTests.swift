import Delivery
import Destinations
import TestSupport
import Testing

/// Plain HTTP through a proxy: what the proxy sees, and what it does not.
@Suite struct HTTPProxyTests {
    @Test func `a proxy receives the whole URL and its own credential`() throws {
        let server = try ScriptedServer([.status(200)])
        defer { server.stop() }
        let proxy = try ForwardProxy(to: server.port)
        defer { proxy.stop() }
        var options = HTTPOptions(url: "http://collector.example:8080/in", version: "1")
        options.proxy = "http://user:pass%2Fword@127.0.0.1:\(proxy.port)"
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        #expect(try harness.outcome(of: outbound(["{}"])) == .delivered)
        // user:pass/word
        #expect(
            proxy.asked == [
                "POST http://collector.example:8080/in HTTP/1.1 Proxy-Authorization: Basic dXNlcjpwYXNzL3dvcmQ="
            ])
    }

    @Test(arguments: ["127.0.0.1", "127.0.0.0/8"])
    func `hosts in no_proxy are reached directly`(exception: String) throws {
        let server = try ScriptedServer([.status(200)])
        defer { server.stop() }
        let proxy = try ForwardProxy(to: server.port)
        defer { proxy.stop() }
        var options = HTTPOptions(url: server.url, version: "1")
        options.proxy = "http://127.0.0.1:\(proxy.port)"
        options.proxyExceptions = ["other.example", exception]
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        #expect(try harness.outcome(of: outbound(["{}"])) == .delivered)
        #expect(proxy.asked.isEmpty)
        #expect(server.requests.count == 1)
    }

    @Test func `a refusal by the proxy is retried, and its reason shows no password`() throws {
        let refusing = try ScriptedServer([.status(407, headers: ["Proxy-Authenticate: Basic realm=\"x\""])])
        defer { refusing.stop() }
        var options = HTTPOptions(url: "https://collector.example/in", version: "1")
        options.proxy = "http://user:hunter2-hunter2@127.0.0.1:\(refusing.port)"
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        guard case .retry(let reason, _, _) = try harness.outcome(of: outbound(["{}"])) else {
            Issue.record("not retried")
            return
        }
        #expect(reason.contains("407"))
        #expect(!reason.contains("hunter2"))
    }
}
