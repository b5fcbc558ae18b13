import Destinations
import Testing

@Suite struct HTTPOptionsTests {
    private func error(_ change: (inout HTTPOptions) -> Void) throws -> HTTPOptionsError? {
        var options = HTTPOptions(url: "http://127.0.0.1:1/in", version: "1.0")
        change(&options)
        let engine = try HTTPEngine()
        do {
            _ = try HTTPDestination(options, engine: engine)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "http://a.example", "https://a.example:8443/x?y=%0A", "https://user:word@a.example/", "http://[::1]:80/",
        "unix:/run/receiver.sock", "unix:/run/receiver.sock:/v1/events?x=1",
    ])
    func `a usable URL is accepted`(url: String) throws {
        #expect(try error { $0.url = url } == nil)
    }

    @Test(arguments: [
        "", "a.example", "/x", "http://", "ftp://a.example/", "file:///etc/passwd", "gopher://a.example",
        "http://a.example/\r\nX-Evil: 1", "http://a.example/a b", "http://a.example/\u{7f}", "http://a.example/\u{1}",
        "http://a.example:99999/", "unix:", "unix:relative.sock", "unix:/run/a.sock:", "unix:/run/a.sock:v1",
        "unix:/" + String(repeating: "x", count: 107),
    ])
    func `an unusable URL is rejected`(url: String) throws {
        #expect(try error { $0.url = url }?.option == "http")
    }

    @Test(arguments: [
        "sesame\r\nX-Evil: 1", "sesame\n", "sesame\r", "sesame\u{1}", "sesame\u{1b}[0m", "sesame\u{7f}",
    ])
    func `a header value with a control character is rejected and not shown`(value: String) throws {
        let error = try #require(try error { $0.headers = [.init(name: "X-Key", value: value)] })
        #expect(error.option == "headers.X-Key")
        #expect(!error.description.contains("sesame"))
    }

    @Test(arguments: ["", "X Key", "X:Key", "X-Key\r\nX", "Schlüssel", "X\u{0}"])
    func `a header name that is not an HTTP token is rejected`(name: String) throws {
        #expect(try error { $0.headers = [.init(name: name, value: "1")] }?.option == "headers")
    }

    @Test(arguments: [
        "Content-Length", "transfer-encoding", "Connection", "EXPECT", "Upgrade", "TE", "Trailer",
    ])
    func `headers that delimit a request are rejected`(name: String) throws {
        #expect(try error { $0.headers = [.init(name: name, value: "1")] }?.option == "headers.\(name)")
    }

    @Test func `a second content encoding is rejected`() throws {
        let error = try error {
            $0.compression = .gzip
            $0.headers = [.init(name: "content-encoding", value: "br")]
        }
        #expect(error?.option == "headers.Content-Encoding")
    }

    @Test(arguments: ["", "proxy", "ftp://p.example", "http://", "http://p.example/\r\nx"])
    func `an unusable proxy is rejected`(proxy: String) throws {
        #expect(try error { $0.proxy = proxy }?.option == "proxy")
    }

    @Test(arguments: ["", "a b", "a/b", "a:1", "a@b", "a\r\nb"])
    func `an unusable server name is rejected`(name: String) throws {
        let error = try error {
            $0.url = "https://a.example/"
            $0.tls.serverName = name
        }
        #expect(error?.option == "tls.server_name")
    }

    @Test func `a server name without TLS is rejected`() throws {
        #expect(try error { $0.tls.serverName = "api.example" }?.option == "tls.server_name")
    }

    @Test func `a key without its certificate is rejected`() throws {
        #expect(try error { $0.tls.keyFile = "/key.pem" }?.option == "tls.key")
    }
}
