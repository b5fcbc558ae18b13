import Testing

@testable import Ingest

@Suite struct HTTPParserTests {
    /// What a parser has found in a stream of bytes.
    private struct Found: Equatable {
        var requests: [String] = []
        var failure: String?
        /// Heads that were not parsed, because they were the same as the ones before.
        var repeatedHeads = 0
    }

    private func parse(_ text: String, inPiecesOf size: Int = .max, maximumHead: Int = 1000) -> Found {
        let parser = HTTPParser(maximumHead: maximumHead)
        let bytes = Array(text.utf8)
        var found = Found()
        var at = 0
        var head = HTTPRequestHead()
        var body: [UInt8] = []
        while at < bytes.count || parser.isAfterHead {
            let piece = Array(bytes[at..<min(bytes.count, at + min(size, bytes.count))])
            let (event, used) = parser.parse(piece.span)
            at += used
            body += parser.takeBody()
            switch event {
            case .needsMore: #expect(used == piece.count)
            case .head(let new, let isRepeated):
                head = new
                if isRepeated { found.repeatedHeads += 1 }
                body = parser.takeBody()
            case .end:
                let path = String(decoding: head.path, as: UTF8.self)
                found.requests.append("\(head.method) \(path) \(String(decoding: body, as: UTF8.self))")
            case .failed(let reason):
                found.failure = reason
                return found
            }
        }
        return found
    }

    private static func post(_ body: String, _ fields: String = "") -> String {
        "POST /v1/track HTTP/1.1\r\nHost: here\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test func `a head that comes again is not parsed again, and means the same`() {
        let stream = ["one", "two", "", "", "four", "five", "GET /", "POST "].map { Self.post($0) }.joined()
        let requests = ["one", "two", "", "", "four", "five", "GET /", "POST "].map { "post /v1/track \($0)" }
        let whole = parse(stream)
        #expect(whole.requests == requests && whole.failure == nil)
        #expect(whole.repeatedHeads == 7)
        for size in 1...stream.utf8.count {
            let found = parse(stream, inPiecesOf: size)
            #expect(found.requests == requests && found.failure == nil, "in pieces of \(size)")
        }
    }

    @Test(arguments: [
        "Transfer-Encoding: chunked\r\n", "Expect: 100-continue\r\n", "Connection: close\r\n", "Host: there\r\n",
        "X-Long: \(String(repeating: "x", count: 2000))\r\n",
    ])
    func `a head whose request may end in another way is parsed each time`(fields: String) {
        #expect(parse(Self.post("one", fields) + Self.post("two", fields), maximumHead: 10_000).repeatedHeads == 0)
    }

    @Test(arguments: ["12345678901", "+3", "0x3", " 3", "3 ", "3,3", "-3", "", "18446744073709551616"])
    func `another Content-Length than a few digits is parsed`(length: String) {
        let odd = "POST /v1/track HTTP/1.1\r\nHost: here\r\nContent-Length: \(length)\r\n\r\nabc"
        let (behind, alone) = (parse(Self.post("one") + odd), parse(odd))
        #expect(behind.repeatedHeads == 0)
        #expect(behind.requests == ["post /v1/track one"] + alone.requests && behind.failure == alone.failure)
    }

    @Test(arguments: [("POST", "/ HTTP/1.1\r\nHost: a\r\n\r\n"), ("POST / HTTP/1.1\r\nHost: a\r\nX:", "b\r\n\r\n")])
    func `spaces count in a head`(before: String, behind: String) {
        let text = before + String(repeating: " ", count: 50_000) + behind
        for size in [1, 100, .max] { #expect(parse(text, inPiecesOf: size).failure != nil, "pieces of \(size)") }
    }

    @Test func `a body does not count as a head, however it arrives`() {
        let body = String(repeating: "b", count: 5000)
        let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n\(body)\r\n0\r\n\r\n"
        for stream in [Self.post(body) + Self.post(body) + Self.post("x"), chunked + Self.post("x")] {
            for size in [100, 4999, .max] {
                let found = parse(stream, inPiecesOf: size, maximumHead: 100)
                #expect(found.failure == nil && found.requests.last == "post /v1/track x", "pieces of \(size)")
            }
        }
    }

    @Test(arguments: ["x", "\r", "\n", " ", "\0", "POST"])
    func `what is no request is refused behind and before a head that comes again`(junk: String) {
        for size in [1, 2, 7, .max] {
            let behind = parse(Self.post("one") + Self.post("two") + junk + "GET / HTTP/1.1\r\n\r\n", inPiecesOf: size)
            let before = parse(Self.post("one") + junk + Self.post("two"), inPiecesOf: size)
            let alone = parse(junk + Self.post("two"), inPiecesOf: size)
            #expect(behind.requests.prefix(2) == ["post /v1/track one", "post /v1/track two"])
            #expect((before.failure == nil) == (alone.failure == nil), "as without a head before")
            #expect(before.requests.count == 1 + alone.requests.count)
        }
    }

    private static let stream = """
        POST /v1/batch?x=1 HTTP/1.1\r
        Host: localhost\r
        Content-Length: 3\r
        \r
        abcGET /health HTTP/1.1\r
        Host: localhost\r
        \r
        \r
        POST http://there/v1/track HTTP/1.1\r
        Host: there\r
        Transfer-Encoding: chunked\r
        Connection: Upgrade\r
        Upgrade: h2c\r
        \r
        2;name=value\r
        de\r
        1\r
        f\r
        0\r
        Trailer: yes\r
        \r
        OPTIONS /v1/t HTTP/1.1\r
        Host: localhost\r
        Connection: Upgrade\r
        Upgrade: websocket\r
        \r
        HEAD /ready HTTP/1.1\r
        Host: localhost\r
        \r

        """

    @Test func `requests are found wherever the stream is cut`() {
        let expected = Found(requests: [
            "post /v1/batch abc", "get /health ", "post /v1/track def", "options /v1/t ", "head /ready ",
        ])
        for size in 1...Self.stream.utf8.count {
            #expect(parse(Self.stream, inPiecesOf: size) == expected, "pieces of \(size) bytes")
        }
    }

    @Test(arguments: [
        "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
        "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "Content-Length: 1, 1\r\n\r\na",
        "Content-Length: +1\r\n\r\na",
        "Content-Length: -1\r\n\r\na",
        "Content-Length: 0x1\r\n\r\na",
        "Content-Length: 18446744073709551616\r\n\r\na",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-1\r\na\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n11111111111111111\r\na\r\n0\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "A: b\n\r\n",
        "A: b\n c\r\n\r\n",
        "A: b\r\n c\r\n\r\n",
        "A: b\r\n\tc\r\n\r\n",
        " A: b\r\n\r\n",
        "A b\r\n\r\n",
        "A: b\u{0}c\r\n\r\n",
        "A: b\rc\r\n\r\n",
        "A\u{0}: b\r\n\r\n",
    ])
    func `what two parsers may read differently is refused`(_ rest: String) {
        for size in [1, 7, .max] {
            let found = parse("POST /v1/t HTTP/1.1\r\nHost: a\r\n" + rest, inPiecesOf: size)
            #expect(found.failure != nil, "\(found)")
            #expect(found.requests.isEmpty)
        }
    }

    @Test(arguments: [
        "POST /v1/t HTTP/1.1\nHost: a\r\n\r\n", "POST /v1/t\tHTTP/1.1\r\n\r\n",
        "BREW /v1/t HTTP/1.1\r\n\r\n", "POST /v1/t XTTP/1.1\r\n\r\n", "POST /v1/t HTTP/1.12\r\n\r\n",
        "\u{16}\u{3}\u{1}",
    ])
    func `what is not HTTP is refused`(_ text: String) {
        #expect(parse(text).failure != nil)
        #expect(parse(text, inPiecesOf: 1).failure != nil)
    }

    @Test func `after a request that closes the connection nothing more is read`() {
        let found = parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /second HTTP/1.1\r\n\r\n")
        #expect(found.requests == ["get / "])
        #expect(found.failure != nil)
    }

    @Test(arguments: ["A: \(String(repeating: "a", count: 900))\r\n\r\n", String(repeating: "A: b\r\n", count: 400)])
    func `target and fields are bounded`(_ fields: String) {
        for size in [1, .max] {
            #expect(parse("POST / HTTP/1.1\r\n" + fields, inPiecesOf: size, maximumHead: 500).failure != nil)
        }
        #expect(parse("POST / HTTP/1.1\r\nHost: a\r\n\r\n", maximumHead: 500).requests.count == 1)
    }

    @Test func `a long target and fields behind the body are bounded`() {
        let long = String(repeating: "a", count: 600)
        #expect(parse("POST /\(long) HTTP/1.1\r\n\r\n", maximumHead: 500).failure != nil)
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTrailer: \(long)\r\n\r\n"
        #expect(parse(chunked, maximumHead: 500).failure != nil)
        #expect(parse(chunked, inPiecesOf: 1, maximumHead: 500).failure != nil)
    }
}
