import CZlib
import CZstd
import Delivery
import Destinations
import Glibc
import Platform
import TestSupport
import Testing

/// The exact requests that a server receives.
@Suite struct HTTPRequestTests {
    private let events = [#"{"a":1}"#, #"{"b":"ü"}"#, #"{"c":[1, 2]}"#]

    private func send(
        _ events: [String], script: [ScriptedServer.Reply] = [.status(200)],
        _ change: (inout HTTPOptions) -> Void
    ) throws -> (DeliveryClaim.Settlement, [ScriptedServer.Request]) {
        let server = try ScriptedServer(script)
        defer { server.stop() }
        var options = HTTPOptions(url: server.url, version: "1.2.3")
        change(&options)
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        return (try harness.deliver(outbound(events)), server.requests)
    }

    @Test func `the ndjson format sends the payload unchanged`() throws {
        let (settlement, requests) = try send(events) { $0.format = .ndjson }
        #expect(settlement.isDelivered)
        #expect(requests.map(\.text) == ["{\"a\":1}\n{\"b\":\"ü\"}\n{\"c\":[1, 2]}\n"])
        #expect(requests[0].line == "POST /in HTTP/1.1")
        #expect(requests[0].headers["content-type"] == "application/x-ndjson")
        #expect(requests[0].headers["user-agent"] == "penstock/1.2.3")
        #expect(requests[0].headers["expect"] == nil)
        #expect(requests[0].headers["content-encoding"] == nil)
    }

    @Test func `the array format sends one JSON array`() throws {
        let (settlement, requests) = try send(events) { $0.format = .array }
        #expect(settlement.isDelivered)
        #expect(requests.map(\.text) == [#"[{"a":1},{"b":"ü"},{"c":[1, 2]}]"#])
        #expect(requests[0].headers["content-type"] == "application/json")
    }

    @Test func `the array format sends one event as an array`() throws {
        let (_, requests) = try send([events[0]]) { $0.format = .array }
        #expect(requests.map(\.text) == [#"[{"a":1}]"#])
    }

    @Test func `the single format sends one request per event`() throws {
        let (settlement, requests) = try send(events) {
            $0.format = .single
            $0.requests = 1...1
        }
        guard case .each(let outcomes) = settlement else {
            Issue.record("the single format must settle each event")
            return
        }
        #expect(outcomes == [.delivered, .delivered, .delivered])
        #expect(requests.map(\.text) == events)
        #expect(requests.allSatisfy { $0.headers["content-type"] == "application/json" })
    }

    @Test(arguments: [16 << 10, (16 << 10) + 1, 70_000, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 3 << 20])
    func `a large body arrives whole`(size: Int) throws {
        let event = "{\"x\":\"" + String(repeating: "y", count: size - 9) + "\"}"
        let (settlement, requests) = try send([event]) { $0.format = .ndjson }
        #expect(settlement.isDelivered)
        #expect(requests.map(\.body.count) == [size])
        #expect(requests.first?.text == event + "\n")
    }

    @Test(arguments: HTTPOptions.Method.allCases.filter(\.hasBody))
    func `a request uses the configured method`(method: HTTPOptions.Method) throws {
        let (settlement, requests) = try send(events) { $0.method = method }
        #expect(settlement.isDelivered)
        #expect(requests.map(\.line) == ["\(method.rawValue) /in HTTP/1.1"])
        #expect(requests[0].body.count == 33)
    }

    @Test func `headers are sent as configured`() throws {
        let (_, requests) = try send(events) {
            $0.headers = [
                .init(name: "Authorization", value: "Bearer abc"), .init(name: "X-Empty", value: ""),
                .init(name: "Content-Type", value: "application/vnd.example+json"),
            ]
        }
        #expect(requests[0].headers["authorization"] == "Bearer abc")
        #expect(requests[0].headers["x-empty"] == "")
        #expect(requests[0].headers["content-type"] == "application/vnd.example+json")
    }

    @Test(arguments: HTTPOptions.Format.allCases)
    func `a gzip body decompresses to the original`(format: HTTPOptions.Format) throws {
        let event = "{\"x\":\"" + String(repeating: "abc ", count: 20_000) + "\"}"
        let (settlement, requests) = try send([event, event]) {
            $0.format = format
            $0.compression = .gzip
            $0.requests = 1...1
        }
        let expected: [String] =
            switch format {
            case .ndjson, .lines, .text: ["\(event)\n\(event)\n"]
            case .array: ["[\(event),\(event)]"]
            case .single: [event, event]
            case .form:
                Array(repeating: "x=" + String(repeating: "abc%20", count: 20_000), count: 2)
            case .xml:
                Array(
                    repeating: #"<?xml version="1.0" encoding="UTF-8"?><x>"# + String(repeating: "abc ", count: 20_000)
                        + "</x>", count: 2)
            }
        if case .each(let outcomes) = settlement { #expect(outcomes == [.delivered, .delivered]) }
        #expect(requests.map { gunzip($0.body) } == expected)
        #expect(requests.allSatisfy { $0.headers["content-encoding"] == "gzip" && $0.body.count < 2000 })
    }

    @Test func `a zstd body decompresses to the original`() throws {
        let event = "{\"x\":\"" + String(repeating: "abc ", count: 20_000) + "\"}"
        let (settlement, requests) = try send([event, event]) {
            $0.format = .ndjson
            $0.compression = .zstd
        }
        #expect(settlement.isDelivered)
        let body = try #require(requests.first?.body)
        #expect(requests[0].headers["content-encoding"] == "zstd")
        #expect(body.count < 2000)
        var output = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe ZSTD_decompress(&output, output.count, body, body.count)
        #expect(String(decoding: output.prefix(Int(count)), as: UTF8.self) == "\(event)\n\(event)\n")
    }

    @Test func `a connection serves many requests`() throws {
        let server = try ScriptedServer([.status(200)])
        defer { server.stop() }
        var options = HTTPOptions(url: server.url, version: "1")
        options.format = .ndjson
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        for _ in 0..<50 { #expect(try harness.outcome(of: outbound(events)) == .delivered) }
        #expect(server.requests.count == 50)
        #expect(server.connections == 1)
    }

    @Test func `the number of requests in flight stays within its limit`() throws {
        let server = try ScriptedServer([.hang])
        defer { server.stop() }
        var options = HTTPOptions(url: server.url, version: "1")
        options.format = .single
        options.requests = 3...3
        options.timeout = .seconds(2)
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        let settlement = try harness.deliver(outbound((0..<40).map { "{\"n\":\($0)}" }))
        // The first three requests got no response, so the others are not sent.
        #expect(eventually { server.requests.count == 3 })
        guard case .all(.retry) = settlement else {
            Issue.record("not retried as a whole: \(settlement)")
            return
        }
    }

    @Test func `a request can be sent to a Unix socket`() throws {
        try withHTTPTestDirectory { directory in
            let server = try ScriptedServer([.status(200)], unixSocket: directory + "/http.sock")
            defer { server.stop() }
            let harness = try HTTPHarness(HTTPOptions(url: "unix:\(directory)/http.sock:/v1/x?y=1", version: "1"))
            defer { harness.stop() }
            #expect(try harness.outcome(of: outbound(events)) == .delivered)
            #expect(server.requests.map(\.line) == ["POST /v1/x?y=1 HTTP/1.1"])
        }
    }
}

/// Decompresses gzip with zlib. Nil: the bytes are not gzip.
private func gunzip(_ bytes: [UInt8]) -> String? {
    var stream = unsafe z_stream()
    guard unsafe inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
        return nil
    }
    defer { unsafe inflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: 1 << 20)
    let code = unsafe input.withUnsafeMutableBufferPointer { input in
        unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe stream.next_in = input.baseAddress
            unsafe stream.avail_in = UInt32(input.count)
            unsafe stream.next_out = output.baseAddress
            unsafe stream.avail_out = UInt32(output.count)
            return unsafe inflate(&stream, Z_FINISH)
        }
    }
    guard code == Z_STREAM_END else { return nil }
    return unsafe String(decoding: output.prefix(Int(stream.total_out)), as: UTF8.self)
}
