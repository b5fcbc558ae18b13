import Control
import Foundation
import TestSupport
import Testing

/// A daemon with a page.
extension TestDaemon {
    static func withPage(
        _ page: String = "127.0.0.1:0", configuration: String = archiveOnly, sources: String = oneSource
    ) throws -> TestDaemon {
        try TestDaemon(
            configuration: configuration, sources: sources,
            control: "{ socket: control.sock, page: \"\(page)\" }")
    }

    func page() throws -> PageReport { try ControlClient(socket: control).get("/page").decode() }

    /// `http://127.0.0.1:PORT/`, and the same with the token.
    func pageURL() throws -> String { try #require(try page().url) }
    func pageAddress() throws -> String { try pageURL() + "#token=" + #require(try page().token) }

    /// A request to the page as its own script would send it.
    func askPage(_ path: String, _ arguments: String..., token: String? = nil) throws -> Program {
        let (url, own) = (try pageURL(), try #require(try page().token))
        return try Program.run(
            "curl",
            [
                "-sS", "--noproxy", "*", "--max-time", "60", "-w", "\n%{http_code}", "-H",
                "Authorization: Bearer \(token ?? own)", "-H", "Origin: \(url.dropLast())", url + path,
            ] + arguments)
    }
}

/// The page's listener, as its clients and its enemies meet it.
@Suite struct PageListenerTests {
    @Test func `the document needs no token, and everything else does`() throws {
        let daemon = try TestDaemon.withPage()
        try daemon.start()
        let url = try daemon.pageURL()
        let document = try daemon.curl("-i", url)
        #expect(document.output.contains("HTTP/1.1 200") && document.output.contains("<!doctype html>"))
        for field in [
            "content-security-policy: default-src 'none'; script-src 'sha256-", "x-content-type-options: nosniff",
            "referrer-policy: no-referrer", "cache-control: no-store", "cross-origin-resource-policy: same-origin",
            "frame-ancestors 'none'",
        ] {
            #expect(document.output.contains(field), "\(field)")
        }
        for path in ["status", "tap", "configuration", "routing", "history", "dead-letters?destination=archive"] {
            let answer = try daemon.curl(url + "api/" + path)
            #expect(answer.output.hasSuffix("401\n") && answer.output.contains("penstock open"), "\(answer.output)")
        }
        let wrong = try daemon.askPage("api/status", token: String(repeating: "0", count: 64))
        #expect(wrong.output.hasSuffix("401"))
        let right = try daemon.askPage("api/status")
        #expect(right.output.hasSuffix("200") && right.output.contains("\"health\""))
        // A token in the query would be in logs and histories: it is not taken.
        let query = try daemon.curl(url + "api/status?token=" + #require(try daemon.page().token))
        #expect(query.output.hasSuffix("401\n"))
        #expect(!daemon.log.contains(try #require(try daemon.page().token)))
        #expect(daemon.terminate() == 0)
    }

    @Test func `another host, another origin and a POST without an origin are refused`() throws {
        let daemon = try TestDaemon.withPage()
        try daemon.start()
        let rebound = try daemon.askPage("api/status", "-H", "Host: evil.example")
        #expect(rebound.output.hasSuffix("403"))
        #expect(try daemon.curl("-H", "Host: evil.example", daemon.pageURL()).output.hasSuffix("403\n"))
        let token = try #require(try daemon.page().token)
        for origin in ["Origin: https://evil.example", "Origin: null", "X: no origin at all"] {
            let answer = try daemon.curl(
                "-H", "Authorization: Bearer \(token)", "-H", origin, "-d", "{}",
                try daemon.pageURL() + "api/resume?destination=archive")
            #expect(answer.output.hasSuffix("403\n"), "\(origin): \(answer.output)")
        }
        let own = try daemon.askPage("api/resume?destination=archive", "-d", "{}")
        #expect(own.output.hasSuffix("200"), "\(own.output)")
        let preflight = try daemon.curl("-i", "-X", "OPTIONS", "-H", "Origin: https://evil.example", daemon.pageURL())
        #expect(preflight.output.hasSuffix("405\n") && !preflight.output.lowercased().contains("access-control-"))
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: ["api/reload", "api/page", "api/", "api", "x", "api/../status", "status", "api//status"])
    func `the page offers nothing else`(_ path: String) throws {
        let daemon = try TestDaemon.withPage()
        try daemon.start()
        for arguments in [["--path-as-is"], ["--path-as-is", "-d", "{}"]] {
            let answer = try daemon.askPage(path, arguments[0], arguments.last ?? "")
            #expect(answer.output.hasSuffix("404"), "\(answer.output)")
        }
        #expect(daemon.terminate() == 0)
    }

    @Test func `a token outlives the daemon, and a page at a socket needs none`() throws {
        let daemon = try TestDaemon.withPage()
        try daemon.start()
        let token = try #require(try daemon.page().token)
        let printed = try daemon.penstock("open")
        let address = try daemon.pageAddress()
        #expect(printed.status == 0 && printed.output == address + "\n", "\(printed)")
        #expect(daemon.terminate() == 0)
        try daemon.start()
        #expect(try daemon.page().token == token)

        try daemon.write(
            configuration: TestDaemon.archiveOnly, control: "{ socket: control.sock, page: ./page.sock }")
        #expect(try daemon.reload().applied)
        #expect(try daemon.page() == PageReport(socket: daemon.path("page.sock")))
        let socket = try daemon.curl("--unix-socket", daemon.path("page.sock"), "http://localhost:9378/api/status")
        #expect(socket.output.hasSuffix("200\n") && socket.output.contains("\"health\""))
        let rebound = try daemon.curl("--unix-socket", daemon.path("page.sock"), "http://evil.example/api/status")
        #expect(rebound.output.hasSuffix("403\n"))
        let mode = try FileManager.default.attributesOfItem(atPath: daemon.path("page.sock"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try daemon.penstock("open").output.contains("ssh -L 9378:\(daemon.path("page.sock")) HOST"))

        try daemon.write(configuration: TestDaemon.archiveOnly)
        #expect(try daemon.reload().applied)
        #expect(!FileManager.default.fileExists(atPath: daemon.path("page.sock")))
        let none = try daemon.penstock("open")
        #expect(none.status == 1 && none.errors.contains("control: { page: 127.0.0.1:9378 }"))
        #expect(daemon.terminate() == 0)
    }

    @Test func `the page's taps are samples, and leave room for the command's`() throws {
        let daemon = try TestDaemon.withPage()
        try daemon.start()
        let (port, token) = (try daemon.pageURL().split(separator: ":").last?.dropLast(), try daemon.page().token)
        let taps = try (0..<4).map { _ in
            let connection = try HTTPConnection(port: #require(port.flatMap { UInt16($0) }))
            try connection.send(
                "GET /api/tap?rate=5000 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token ?? "")\r\n\r\n")
            return connection
        }
        try eventually("the taps run") { try daemon.taps == 4 }
        let refused = try daemon.askPage("api/tap")
        #expect(refused.output.hasSuffix("503") && refused.output.contains("another page's debugger"))
        let tap = try TapProcess(daemon, "--limit", "1")
        try EventClient(daemon).send(events(0..<1))
        #expect(try tap.end() == 0)
        withExtendedLifetime(taps) {}
        #expect(daemon.terminate() == 0)
    }

    @Test func `an explanation has the routes and the request, and no secret`() throws {
        let daemon = try TestDaemon.withPage(
            configuration: """
                secrets: { directory: secrets }
                routes: [ { name: wanted, where: properties.n = 1, to: [service] } ]
                destinations:
                  service: { http: "http://127.0.0.1:1/", headers: { Authorization: "Bearer {{ secret.key }}" } }
                """)
        try FileManager.default.createDirectory(
            atPath: daemon.path("secrets"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try "hush-hush".write(toFile: daemon.path("secrets/key"), atomically: true, encoding: .utf8)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(#"{"type":"track","event":"E","userId":"u","properties":{"n":1}}"# + "\n")
        #expect(try client.acknowledgement(of: 1).lines == 1)
        for order in [
            #"{"position":0}"#,
            #"{"event":"{\"type\":\"track\",\"event\":\"E\",\"userId\":\"u\",\"properties\":{\"n\":1}}"}"#,
        ] {
            let answer = try daemon.askPage("api/explain", "-d", order)
            #expect(
                answer.output.hasSuffix("200") && answer.output.contains(#""verdict":"routed""#), "\(answer.output)")
            #expect(answer.output.contains("<secret key>") && !answer.output.contains("hush-hush"))
        }
        #expect(try daemon.askPage("api/explain", "-d", #"{"position":7}"#).output.hasSuffix("404"))
        #expect(try daemon.askPage("api/explain", "-d", "{}").output.hasSuffix("400"))
        #expect(try daemon.askPage("api/explain", "-d", "nonsense").output.hasSuffix("400"))
        let refused = try daemon.askPage("api/explain", "-d", #"{"event":"{\"type\":\"track\"}"}"#)
        #expect(refused.output.contains(#""refused":"#))
        for path in ["api/routing", "api/configuration", "api/status"] {
            #expect(!(try daemon.askPage(path).output.contains("hush-hush")))
        }
        #expect(daemon.terminate() == 0)
    }

    @Test func `a filter's fault has its place, and what was delivered has a history`() throws {
        let daemon = try TestDaemon.withPage()
        try daemon.start()
        let fault = try daemon.askPage("api/filter?where=event%20%3D%20%22%C3%BC%22%20an")
        #expect(fault.output.contains(#""column":13,"length":2"#), "\(fault.output)")
        #expect(try daemon.askPage("api/filter?where=true").output == "{}\n\n200")
        #expect(try daemon.askPage("api/history?from=x").output.hasSuffix("400"))
        let history = try daemon.askPage("api/history")
        #expect(history.output.contains(#""step_seconds":10"#))
        #expect(daemon.terminate() == 0)
    }
}
