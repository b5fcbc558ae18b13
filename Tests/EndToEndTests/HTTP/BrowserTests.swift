import Control
import Foundation
import Testing

/// Pages in browsers. The package of analytics.js is not installed: a program does what it does.
@Suite struct BrowserTests {
    private static let origin = "https://shop.example"

    private func visit(_ daemon: TestDaemon, key: String = TestDaemon.writeKey, from origin: String) throws -> Program {
        try Program.run(
            "timeout",
            ["-s", "KILL", "60", "node", Repository.root + "/Tests/Support/clients/browser_page.mjs"]
                + [daemon.url(), key, origin])
    }

    @Test(arguments: [#""\#(origin)""#, #""*""#])
    func `a page of an allowed origin loads its settings and sends its events`(allowed: String) throws {
        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource("127.0.0.1:0", "allow_origins: [\(allowed)]"))
        try daemon.start()
        defer { daemon.kill9() }
        let page = try visit(daemon, from: Self.origin)
        #expect(page.status == 0 && page.output == "sent\n", "\(page)")
        try daemon.settle(accepted: 5)
        let events = daemon.archived()
        #expect(events.compactMap { $0["event"] as? String } == ["Fetched", "Asked", "First", "Second", "Left"])
        #expect(events.allSatisfy { $0["sentAt"] is String && $0["writeKey"] == nil })
        #expect(events.compactMap { $0["messageId"] as? String }.first == "ajs-next-Fetched")
        let wrong = try visit(daemon, key: "another-write-key", from: Self.origin)
        #expect(wrong.output == "settings: 401\n", "the page can read why: \(wrong)")
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: [nil, #"["https://other.example"]"#])
    func `a page of another origin can do nothing`(allowed: String?) throws {
        let daemon = try TestDaemon(
            httpSource: TestDaemon.httpSource("127.0.0.1:0", allowed.map { "allow_origins: \($0)" } ?? ""))
        try daemon.start()
        defer { daemon.kill9() }
        let page = try visit(daemon, from: Self.origin)
        #expect(page.output == "settings: the browser hides the answer (403, null)\n", "\(page)")
        // Not even with a known write key and a request that a browser sends without asking.
        let sent = try daemon.curl(
            "-i", "-H", "Origin: \(Self.origin)", "-H", "Content-Type: text/plain", "\(try daemon.url())/v1/t", "-d",
            #"{"event":"E","userId":"u","writeKey":"\#(TestDaemon.writeKey)"}"#)
        #expect(sent.output.hasSuffix("403\n") && !sent.output.contains("Access-Control"), "\(sent)")
        #expect(try daemon.status().sources["apps"]?.accepted == 0)
        #expect(daemon.terminate() == 0)
    }
}
