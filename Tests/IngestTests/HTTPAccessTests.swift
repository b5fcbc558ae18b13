import Events
import Foundation
import Testing

@testable import Ingest

/// Write keys and browsers.
@Suite struct HTTPAccessTests {
    private func event(_ id: String) -> String { HTTPClient.event(id) }
    private let key = "0123456789abcdef"

    private var keyed: HTTPAccess {
        var access = HTTPAccess()
        access.writeKeys = [Array("another one, longer".utf8), Array(key.utf8)]
        access.requiresWriteKey = true
        return access
    }

    private func basic(_ user: String, _ password: String = "") -> String {
        "Authorization: Basic \(Data("\(user):\(password)".utf8).base64EncodedString())\r\n"
    }

    @Test func `a known key is accepted in the head and in the body`() throws {
        let client = HTTPClient(keyed)
        #expect(try client.ask(HTTPClient.post("/v1/track", event("1"), fields: basic(key))).status == 200)
        #expect(try client.ask(HTTPClient.post("/v1/track", event("1"), fields: basic(key, "any"))).status == 200)
        let body = HTTPClient.batch([event("2")], more: ",\"writeKey\":\"\(key)\"")
        #expect(try client.ask(HTTPClient.post("/v1/batch", body)).status == 200)
        let bearer = "Authorization: Bearer \(key)\r\n"
        #expect(try client.ask(HTTPClient.post("/v1/track", event("3"), fields: bearer)).status == 200)
        #expect(!client.appender.events.joined().contains(key))
    }

    @Test(arguments: [
        "", "0", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF", "\0", "another one, longer\0",
    ])
    func `any other key is refused`(_ wrong: String) throws {
        let client = HTTPClient(keyed)
        let answer = try client.ask(HTTPClient.post("/v1/track", event("1"), fields: basic(wrong)))
        #expect(answer.status == 401)
        #expect(answer.reason == "unknown_write_key")
        #expect(answer.fields["www-authenticate"] == "Bearer realm=\"penstock\"")
        let text = wrong.replacing("\0", with: "\\u0000")
        let body = HTTPClient.batch([event("2")], more: ",\"writeKey\":\"\(text)\"")
        #expect(try client.ask(HTTPClient.post("/v1/batch", body)).status == 401)
        #expect(try client.ask(HTTPClient.post("/v1/batch", HTTPClient.batch([event("3")]))).status == 401)
        #expect(client.appender.events.isEmpty)
        #expect(client.statistics.snapshot().refusedByReason == [.unknownWriteKey: 3])
    }

    @Test(arguments: ["Basic", "Basic !", "Basic MDEy", "Digest a=b", "basic  ", ""])
    func `credentials that cannot be read are no key`(_ value: String) throws {
        let request = HTTPClient.post("/v1/track", event("1"), fields: "Authorization: \(value)\r\n")
        #expect(try HTTPClient(keyed).ask(request).status == 401)
    }

    @Test func `without configured keys, the socket's permissions decide`() throws {
        #expect(try HTTPClient().ask(HTTPClient.post("/v1/track", event("1"), fields: basic("any"))).status == 200)
    }

    @Test func `the settings name this host as the place to send events`() throws {
        let client = HTTPClient(keyed)
        let answer = try client.ask(HTTPClient.get("/v1/projects/\(key)/settings"))
        #expect(answer.status == 200)
        let integrations = try #require(answer.json["integrations"] as? [String: [String: Any]])
        let segment = try #require(integrations["Segment.io"])
        #expect(segment["apiKey"] as? String == key)
        #expect(segment["apiHost"] as? String == "localhost:8377/v1")
        #expect(segment["protocol"] as? String == "http")
        #expect(try client.ask(HTTPClient.get("/v1/projects/wrong/settings")).status == 401)
        #expect(try client.ask(HTTPClient.get("/v1/projects/\(key)/settings/")).status == 404)
    }

    @Test func `pages of allowed origins may send events, and others may not`() throws {
        var access = HTTPAccess()
        access.allowedOrigins = ["https://shop.example"]
        let client = HTTPClient(access)
        let allowed = "Origin: https://shop.example\r\n"
        let preflight = try client.ask(
            HTTPClient.get("/v1/t", method: "OPTIONS", fields: allowed + "Access-Control-Request-Method: POST\r\n"))
        #expect(preflight.status == 204)
        #expect(preflight.fields["access-control-allow-origin"] == "https://shop.example")
        #expect(preflight.fields["access-control-allow-methods"] == "POST, OPTIONS")
        #expect(preflight.fields["content-length"] == nil)
        let sent = try client.ask(HTTPClient.post("/v1/t", event("1"), fields: allowed))
        #expect(sent.status == 200)
        #expect(sent.fields["access-control-allow-origin"] == "https://shop.example")
        #expect(sent.fields["vary"] == "Origin")

        for origin in ["https://shop.example.evil", "http://shop.example", "null", "https://SHOP.example"] {
            let answer = try client.ask(HTTPClient.post("/v1/t", event("2"), fields: "Origin: \(origin)\r\n"))
            #expect(answer.status == 403)
            #expect(answer.fields["access-control-allow-origin"] == nil)
        }
        #expect(client.appender.events == [event("1")])
        #expect(try client.ask(HTTPClient.post("/v1/t", event("3"))).status == 200, "no browser")

        access.allowedOrigins = nil
        let open = try HTTPClient(access).ask(HTTPClient.post("/v1/t", event("1"), fields: "Origin: null\r\n"))
        #expect(open.fields["access-control-allow-origin"] == "*")
        #expect(try HTTPClient().ask(HTTPClient.post("/v1/t", event("1"), fields: allowed)).status == 403)
    }
}
