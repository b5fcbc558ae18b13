import Foundation
import Testing

/// curl(1) and socat(1), as people use them in a shell.
@Suite struct CurlTests {
    private static let success = "{\"success\":true}\n"

    private func daemon(_ more: String = "") throws -> TestDaemon {
        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource("127.0.0.1:0", more))
        try daemon.start()
        return daemon
    }

    private static func batch(_ numbers: Range<Int>, padding: Int = 0) -> String {
        let fields = padding > 0 ? #","properties":{"pad":"\#(String(repeating: "x", count: padding))"}"# : ""
        return #"{"batch":["# + numbers.map { event($0, fields: fields) }.joined(separator: ",") + "]}"
    }

    @Test func `single events and batches arrive over the Unix socket without a write key`() throws {
        let daemon = try daemon()
        defer { daemon.kill9() }
        let names = ["track", "identify", "page", "screen", "t", "i", "p", "s"]
        for (number, name) in names.enumerated() {
            let answer = try daemon.curl(
                "--unix-socket", daemon.events, "http://localhost/v1/\(name)", "-d",
                #"{"event":"E","userId":"u","messageId":"m-000000\#(number)","traits":{"a":1e400}}"#)
            #expect(answer.output == Self.success + "200\n", "\(name): \(answer)")
        }
        for (number, name) in ["batch", "import", "b"].enumerated() {
            let answer = try daemon.curl(
                "--unix-socket", daemon.events, "http://localhost/v1/\(name)", "-d",
                Self.batch(100 + number * 2..<102 + number * 2))
            #expect(answer.output == Self.success + "200\n", "\(name): \(answer)")
        }
        try daemon.settle(accepted: 14)
        let lines = daemon.lines("archive.ndjson")
        #expect(lines.compactMap(number) == Array(0..<8) + Array(100..<106))
        for (line, name) in zip(lines, names.prefix(4) + names.prefix(4)) {
            #expect(line.contains("\"type\":\"\(name)\"") && line.contains("1e400"), "\(line)")
        }
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: ["Basic", "Bearer", "body"])
    func `a TCP client needs a known write key, which is not stored`(place: String) throws {
        let daemon = try daemon()
        defer { daemon.kill9() }
        let url = try daemon.url() + "/v1/batch"
        func send(_ key: String, _ number: Int) throws -> String {
            let body = Self.batch(number..<number + 1)
            switch place {
            case "Basic": return try daemon.curl("-u", key + ":", url, "-d", body).output
            case "Bearer": return try daemon.curl("-H", "Authorization: Bearer " + key, url, "-d", body).output
            default: return try daemon.curl(url, "-d", body.dropLast() + #","writeKey":"\#(key)"}"#).output
            }
        }
        #expect(try send(TestDaemon.writeKey, 1) == Self.success + "200\n")
        for wrong in ["", "0", TestDaemon.writeKey + "0", String(repeating: "k", count: 5000)] {
            let answer = try send(wrong, 2)
            #expect(answer.hasSuffix("401\n"), "\(wrong): \(answer)")
            #expect(jsonObject(String(answer.dropLast(4)))?["reason"] as? String == "unknown_write_key")
        }
        #expect(try daemon.refused("unknown_write_key") == 4)
        try daemon.settle(accepted: 1)
        #expect(daemon.lines("archive.ndjson").compactMap(number) == [1])
        #expect(!daemon.log.contains(TestDaemon.writeKey))
        let files = try Program.run("grep", ["-rlF", TestDaemon.writeKey, daemon.path("journal"), daemon.path("log")])
        #expect(files.output == "")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a compressed body is decompressed, and a bomb is refused`() throws {
        let daemon = try daemon()
        defer { daemon.kill9() }
        func send(_ text: String, _ encoding: String) throws -> String {
            try text.write(toFile: daemon.path("body"), atomically: true, encoding: .utf8)
            let code =
                "import gzip,zlib; b=open('body','rb').read();"
                + "open('packed','wb').write(\(encoding == "gzip" ? "gzip" : "zlib").compress(b))"
            let packed = try Program.run("env", ["-C", daemon.directory, "/usr/bin/python3", "-c", code])
            try #require(packed.status == 0, "\(packed.errors)")
            return try daemon.curl(
                "--unix-socket", daemon.events, "http://localhost/v1/batch", "-H", "Content-Encoding: \(encoding)",
                "--data-binary", "@" + daemon.path("packed")
            ).output
        }
        #expect(try send(Self.batch(0..<500), "gzip") == Self.success + "200\n")
        #expect(try send(Self.batch(500..<1000), "deflate") == Self.success + "200\n")
        let bomb = try send(String(repeating: " ", count: 40 << 20), "gzip")
        #expect(bomb.hasSuffix("400\n") && bomb.contains("\"too_large\""), "\(bomb)")
        try daemon.settle(accepted: 1000)
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0..<1000))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a client that expects 100-continue sends a body only if it is wanted`() throws {
        let daemon = try daemon()
        defer { daemon.kill9() }
        func send(_ body: String, _ more: String...) throws -> Program {
            try body.write(toFile: daemon.path("body"), atomically: true, encoding: .utf8)
            // Without the word to go on, curl would wait for 50 s, longer than the test allows.
            let arguments =
                ["-sSv", "--noproxy", "*", "--max-time", "40", "--expect100-timeout", "50", "--unix-socket"]
                + [daemon.events, "http://localhost/v1/batch", "-H", "Expect: 100-continue", "--data-binary"]
                + ["@" + daemon.path("body"), "-w", "sent %{size_upload}"]
            return try Program.run("curl", arguments + more)
        }
        let taken = try send(Self.batch(0..<300, padding: 1200))
        #expect(taken.errors.contains("< HTTP/1.1 100 Continue"), "\(taken.errors)")
        #expect(taken.output.hasPrefix(Self.success), "\(taken)")
        let refused = try send(Self.batch(300..<1500, padding: 1200))
        #expect(refused.errors.contains("< HTTP/1.1 400 "), "\(refused.errors)")
        #expect(!refused.errors.contains("100 Continue"))
        #expect(refused.output.contains("\"too_large\"") && refused.output.hasSuffix("sent 0"), "\(refused.output)")
        try daemon.settle(accepted: 300)
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0..<300))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a chunked body from stdin and a request of HTTP 1 0 are answered`() throws {
        let daemon = try daemon()
        defer { daemon.kill9() }
        let chunked = try daemon.curl(
            "--unix-socket", daemon.events, "http://localhost/v1/batch", "-X", "POST", "-T", "-",
            input: Self.batch(0..<300, padding: 1200))
        #expect(chunked.output == Self.success + "200\n", "\(chunked)")
        let old = try daemon.curl(
            "-0", "-i", "--unix-socket", daemon.events, "http://localhost/v1/track", "-d", event(300))
        #expect(old.output.hasPrefix("HTTP/1.1 200 OK\r\n") && old.output.contains("\r\nConnection: close\r\n"))
        try daemon.settle(accepted: 301)
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0...300))
        #expect(daemon.terminate() == 0)
    }

    @Test func `two requests of one run use one connection`() throws {
        let daemon = try daemon()
        defer { daemon.kill9() }
        var arguments: [String] = []
        for number in 0..<2 {
            if number > 0 { arguments += ["--next"] }
            arguments += ["-sS", "--noproxy", "*", "--unix-socket", daemon.events, "http://localhost/v1/track", "-d"]
            arguments += [event(number), "-w", "%{http_code} after %{num_connects} connects\n"]
        }
        let both = try Program.run("timeout", ["60", "curl"] + arguments)
        #expect(
            both.output == Self.success + "200 after 1 connects\n" + Self.success + "200 after 0 connects\n", "\(both)")
        try daemon.settle(accepted: 2)
        #expect(daemon.terminate() == 0)
    }

    @Test func `socat sends a request that a person has written`() throws {
        let daemon = try daemon()
        defer { daemon.kill9() }
        let body = event(1)
        let request = "POST /v1/track HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        for target in ["UNIX-CONNECT:\(daemon.events)", "TCP:127.0.0.1:\(try daemon.port())"] {
            let answer = try Program.run("timeout", ["60", "socat", "-t", "30", "-", target], input: request)
            let isUnix = target.hasPrefix("UNIX")
            #expect(answer.output.hasPrefix("HTTP/1.1 \(isUnix ? "200 OK" : "401 Unauthorized")\r\n"), "\(answer)")
            #expect(answer.output.hasSuffix(isUnix ? Self.success : "}\n"), "the daemon closes when socat has")
        }
        try daemon.settle(accepted: 1)
        #expect(daemon.terminate() == 0)
    }

    @Test func `health and ready need no write key, and unknown paths and methods are explained`() throws {
        let daemon = try daemon()
        defer { daemon.kill9() }
        let url = try daemon.url()
        #expect(try daemon.curl(url + "/health").output == "{\"status\":\"up\"}\n200\n")
        #expect(try daemon.curl(url + "/ready").output == "{\"status\":\"ready\"}\n200\n")
        #expect(try daemon.curl("-I", url + "/health").output.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(try daemon.curl(url + "/v2/track", "-d", "{}").output.hasSuffix("404\n"))
        let method = try daemon.curl("-i", "-X", "PUT", url + "/v1/track", "-d", "{}").output
        #expect(method.hasSuffix("405\n") && method.contains("\r\nAllow: POST, OPTIONS\r\n"), "\(method)")
        #expect(daemon.terminate() == 0)
    }
}
