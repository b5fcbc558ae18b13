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

    @Test("URLs that can be used are taken", arguments: [
        "http://a.example", "https://a.example:8443/x?y=%0A", "https://user:word@a.example/", "http://[::1]:80/",
        "unix:/run/receiver.sock", "unix:/run/receiver.sock:/v1/events?x=1",
    ])
    func goodURLs(url: String) throws {
        #expect(try error { $0.url = url } == nil)
    }

    @Test("URLs that cannot be used are refused", arguments: [
        "", "a.example", "/x", "http://", "ftp://a.example/", "file:///etc/passwd", "gopher://a.example",
        "http://a.example/\r\nX-Evil: 1", "http://a.example/a b", "http://a.example/\u{7f}", "http://a.example/\u{1}",
        "http://a.example:99999/", "unix:", "unix:relative.sock", "unix:/run/a.sock:", "unix:/run/a.sock:v1",
        "unix:/" + String(repeating: "x", count: 107),
    ])
    func badURLs(url: String) throws {
        #expect(try error { $0.url = url }?.option == "http")
    }

    @Test("a header value with a control character is refused, without being shown", arguments: [
        "sesame\r\nX-Evil: 1", "sesame\n", "sesame\r", "sesame\u{1}", "sesame\u{1b}[0m", "sesame\u{7f}",
    ])
    func headerInjection(value: String) throws {
        let error = try #require(try error { $0.headers = [.init(name: "X-Key", value: value)] })
        #expect(error.option == "headers.X-Key")
        #expect(!error.description.contains("sesame"))
    }

    @Test("a header name that is no token is refused", arguments: ["", "X Key", "X:Key", "X-Key\r\nX", "Schlüssel", "X\u{0}"])
    func headerNames(name: String) throws {
        #expect(try error { $0.headers = [.init(name: name, value: "1")] }?.option == "headers")
    }

    @Test("headers that delimit a request are refused", arguments: [
        "Content-Length", "transfer-encoding", "Connection", "EXPECT", "Upgrade", "TE", "Trailer",
    ])
    func reservedHeaders(name: String) throws {
        #expect(try error { $0.headers = [.init(name: name, value: "1")] }?.option == "headers.\(name)")
    }

    @Test func aSecondContentEncodingIsRefused() throws {
        let error = try error {
            $0.compression = .gzip
            $0.headers = [.init(name: "content-encoding", value: "br")]
        }
        #expect(error?.option == "headers.Content-Encoding")
    }

    @Test("a proxy that cannot be one is refused", arguments: ["", "proxy", "ftp://p.example", "http://", "http://p.example/\r\nx"])
    func proxies(proxy: String) throws {
        #expect(try error { $0.proxy = proxy }?.option == "proxy")
    }

    @Test("a server name that cannot be one is refused", arguments: ["", "a b", "a/b", "a:1", "a@b", "a\r\nb"])
    func serverNames(name: String) throws {
        let error = try error {
            $0.url = "https://a.example/"
            $0.tls.serverName = name
        }
        #expect(error?.option == "tls.server_name")
    }

    @Test func aServerNameWithoutTLSIsRefused() throws {
        #expect(try error { $0.tls.serverName = "api.example" }?.option == "tls.server_name")
    }

    @Test func aKeyWithoutItsCertificateIsRefused() throws {
        #expect(try error { $0.tls.keyFile = "/key.pem" }?.option == "tls.key")
    }
}
