import Delivery
import Platform
import TestSupport
import Testing

@testable import Destinations

/// Values of the batch in URLs and headers, and bodies that are not JSON.
@Suite struct BatchValueTests {
    private static let receivedAt: Int64 = 1_769_860_799_123_456_789

    private func batch(_ events: [String], from position: UInt64 = 1234, live: UInt64? = nil) -> OutboundBatch {
        var batch = outbound(events)
        batch.livePosition = live
        for index in batch.events.indices {
            batch.events[index].position = position + UInt64(index)
            batch.events[index].receivedAt = Self.receivedAt + Int64(index)
        }
        return batch
    }

    private func requests(
        _ batch: OutboundBatch, _ url: String, _ values: [BatchValue], _ change: (inout HTTPOptions) -> Void = { _ in }
    ) throws -> [RequestPlan.Request] {
        var options = HTTPOptions(url: url.replacing("~", with: "\u{1}"), version: "1")
        options.batchValues = values
        options.destination = "out"
        change(&options)
        return RequestPlan(batch, try HTTPRequest.all(options), at: 0).requests
    }

    @Test(arguments: [
        (BatchValue.id, "00000000000000001234"), (.position, "00000000000000001234"),
        (.lastPosition, "00000000000000001235"), (.count, "2"), (.date, "2026-01-31"), (.hour, "11"),
        (.time, "20260131T115959.123456789Z"), (.host, HostName.current), (.destination, "out"),
    ])
    func `a value describes the events of the request`(value: BatchValue, expected: String) throws {
        let request = try #require(requests(batch(["{}", "{}"]), "http://h/a/~.gz?x=~", [value, .count]).first)
        #expect(request.url == "http://h/a/\(PercentEncoding.encode(expected.utf8)).gz?x=2")
    }

    @Test(arguments: [(0, "00000000000000000000"), (.max - 1, "18446744073709551614")] as [(UInt64, String)])
    func `every position has 20 digits`(position: UInt64, expected: String) throws {
        #expect(try requests(batch(["{}"], from: position), "http://h/~", [.id])[0].url == "http://h/\(expected)")
    }

    @Test(arguments: [Int64.min, 0, .max]) func `every time has a text`(time: Int64) throws {
        var batch = batch(["{}"])
        batch.events[0].receivedAt = time
        let url = try requests(batch, "http://h/~/~/~", [.date, .hour, .time])[0].url
        #expect(url.split(separator: "/").count == 5)
    }

    @Test func `events that are delivered again get a name of their own`() throws {
        let again = try requests(batch(["{}", "{}"], live: 2000), "http://h/~", [.id])[0].url
        #expect(again == "http://h/00000000000000001234-again-00000000000000001235-2")
        #expect(try requests(batch(["{}"], live: 2000), "http://h/~", [.id])[0].url != again)
    }

    @Test func `a random value is new for each attempt`() throws {
        let urls = try (0..<20).map { _ in try requests(batch(["{}"]), "http://h/~", [.random])[0].url }
        #expect(Set(urls).count == 20 && urls.allSatisfy { $0.count == "http://h/".count + 16 })
    }

    @Test func `headers have values, too, after those of the URL`() throws {
        let request = try requests(batch(["{}"]), "http://h/~", [.count, .hour, .date]) {
            $0.headers = [.init(name: "X-A", value: "a \u{1}"), .init(name: "X-B", value: "\u{1}")]
        }[0]
        #expect(request.url == "http://h/1")
        #expect(request.headers.prefix(2) == ["X-A: a 11", "X-B: 2026-01-31"])
    }

    @Test func `values of the event and of the batch go together, and each request has its own`() throws {
        var batch = batch(["{}", "{}", "{}"])
        // The envelope of each event is before its payload.
        var payload: [UInt8] = []
        for (index, user) in ["ada", "bob", "ada"].enumerated() {
            let envelope = Array("[0,\"\(user)\"]\n".utf8)
            payload += envelope
            let start = payload.count
            payload += Array("{}\n".utf8)
            batch.events[index].payload = start..<start + 2
            batch.events[index].envelope = envelope.count
        }
        batch.payload = payload
        let all = try requests(batch, "http://h/\u{0}/~/~", [.count, .position])
        #expect(
            all.map(\.url) == ["http://h/ada/2/00000000000000001234", "http://h/bob/1/00000000000000001235"])
        // A later request may begin with the same event, and have fewer behind it.
        #expect(
            try requests(batch, "http://h/\u{0}/~", [.id]).map(\.url) == [
                "http://h/ada/00000000000000001234-00000000000000001236-2",
                "http://h/bob/00000000000000001235-00000000000000001235-1",
            ])
    }

    @Test func `the parts of one event have names of their own`() throws {
        var batch = batch(["{}", "{}"])
        batch.events[1].position = batch.events[0].position
        batch.events[1].part = 1
        let urls = try requests(batch, "http://h/~", [.id]) { $0.format = .single }.map(\.url)
        #expect(Set(urls).count == 2, "\(urls)")
        batch.livePosition = 2000
        #expect(try Set(requests(batch, "http://h/~", [.id]) { $0.format = .single }.map(\.url)).count == 2)
    }

    @Test(arguments: ["http://~/", "http://h~/", "~://h/", "unix:/run/~.sock"])
    func `a value of the batch cannot choose the host`(url: String) {
        #expect(throws: HTTPOptionsError.self) { try requests(batch(["{}"]), url, [.count]) }
    }

    @Test func `a retried request has the name of the first attempt`() throws {
        let server = try ScriptedServer([.status(503), .status(200)])
        defer { server.stop() }
        var options = HTTPOptions(url: server.url + "/\u{1}", version: "1")
        options.batchValues = [.id]
        options.method = .PUT
        options.requests = 1...1
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        for _ in 0..<2 { _ = try harness.deliver(batch(["{}"])) }
        _ = try harness.deliver(batch(["{}"], from: 1235))
        #expect(
            server.requests.map(\.line) == [1234, 1234, 1235].map { "PUT /in/0000000000000000\($0) HTTP/1.1" })
    }

    // MARK: Text and forms

    private func bodies(_ events: [String], _ format: HTTPOptions.Format) throws -> ([String], [Int: String]) {
        var options = HTTPOptions(url: "http://h/", version: "1")
        options.format = format
        let plan = RequestPlan(batch(events), try HTTPRequest.all(options), at: 0)
        return (plan.requests.indices.map { String(decoding: plan.body(of: $0), as: UTF8.self) }, plan.refused)
    }

    @Test func `texts are lines`() throws {
        let (bodies, refused) = try bodies([#""a \"b\" \u00e9""#, "12", #"{"x":1}"#], .text)
        #expect(bodies == ["a \"b\" é\n12\n{\"x\":1}\n"] && refused.isEmpty)
    }

    @Test(arguments: [#""a\nb""#, #""a\r""#, #""\u000a""#]) func `a text with a line feed forges no line`(text: String)
        throws
    {
        let (bodies, refused) = try bodies([#""first""#, text], .text)
        #expect(bodies == ["first\n"] && refused.keys.sorted() == [1])
        #expect(refused[1]?.contains("line feed") == true)
    }

    @Test func `an object is a form of its own request`() throws {
        let (bodies, _) = try bodies(
            [#"{"a":"x & y","b c":1.50,"none":null,"list":[1,"=" ],"yes":true,"\u0064":"é"}"#, "3"], .form)
        #expect(
            bodies == [
                "a=x%20%26%20y&b%20c=1.50&list=%5B1%2C%22%3D%22%20%5D&yes=true&d=%C3%A9", "value=3",
            ])
    }

    @Test func `an object with one member is an XML document of its own request`() throws {
        let head = #"<?xml version="1.0" encoding="UTF-8"?>"#
        let (bodies, refused) = try bodies(
            [
                ##"{"order":{"@id":"a\"<\n\t&","note":"x & <y> \r\n \u0001","item":["A",{"@n":1,"#text":2}],"no":null,"e":{}}}"##,
                #"{"größe":true}"#, #"{"a":[]}"#, #"{"a":{"b":[1,[2]]}}"#, #"{"a":1,"b":2}"#, "3", #"{"1a":1}"#,
                #"{"a":{"b><c/":1}}"#, #"{"a":{"@":1}}"#, #"{"a":{"@x":1,"@x":2}}"#, #"{"@a":1}"#, #"{"":1}"#,
                #"{"a":null}"#,
            ], .xml)
        #expect(
            bodies == [
                head + #"<order id="a&quot;&lt;&#10;&#9;&amp;"><note>x &amp; &lt;y&gt; &#13;"# + "\n "
                    + #"\#u{FFFD}</note><item>A</item><item n="1">2</item><e></e></order>"#,
                head + "<größe>true</größe>",
            ])
        #expect(refused.keys.sorted() == Array(2...12))
        #expect(refused[7] == #""b><c/" is not the name of an XML element or attribute"#)
    }

    @Test(arguments: [
        (HTTPOptions.Format.text, "text/plain; charset=utf-8"), (.form, "application/x-www-form-urlencoded"),
        (.xml, "application/xml"),
    ])
    func `a body has its type`(format: HTTPOptions.Format, type: String) throws {
        var options = HTTPOptions(url: "http://h/", version: "1")
        options.format = format
        #expect(try HTTPRequest.all(options)[0].headerLines.contains("Content-Type: \(type)"))
    }
}
