import Events
import RequestBodies
import Testing

/// Bodies as the SDKs of Segment and RudderStack send them, shortened.
@Suite struct ClientBodyTests {
    struct Body: Sendable, CustomTestStringConvertible {
        var client: String
        var path: String
        var json: String
        var kinds: [EventKind]
        var writeKey: String?
        var testDescription: String { client }
    }

    private static let bodies = [
        Body(
            client: "analytics-python", path: "/v1/batch",
            json: """
                {"batch": [{"integrations": {}, "anonymousId": null, "timestamp": "2026-01-31T12:00:00.123+00:00", \
                "context": {"library": {"name": "analytics-python", "version": "2.4.0"}}, "type": "identify", \
                "userId": "u", "traits": {"email": "u@example.org"}, "messageId": "m1"}, {"integrations": {}, \
                "anonymousId": null, "properties": {"note": "Gr\\u00fc\\u00dfe \\"x\\"\\n"}, "timestamp": \
                "2026-01-31T12:00:00.123+00:00", "context": {"library": {"name": "analytics-python"}}, "userId": "u", \
                "type": "track", "event": "A", "messageId": "m2"}], "sentAt": "2026-01-31T12:00:01.456321+00:00", \
                "writeKey": "KEY"}
                """, kinds: [.identify, .track], writeKey: "KEY"),
        Body(
            client: "rudder-sdk-python", path: "/v1/batch",
            json: """
                {"batch": [{"integrations": {"All": true}, "anonymousId": null, "timestamp": \
                "2026-01-31T12:00:00.406278+00:00", "context": {"traits": {"plan": "pro"}, "library": {"name": \
                "analytics-python", "version": "2.1.9"}}, "type": "identify", "userId": "u", "messageId": "m1", \
                "channel": "server"}], "sentAt": "2026-01-31T12:00:01.055907+00:00"}
                """, kinds: [.identify]),
        Body(
            client: "analytics-node", path: "/v1/batch",
            json: """
                {"batch":[{"userId":"u","event":"A","type":"track","properties":{"a":[1]},"integrations":{},\
                "timestamp":"2026-01-31T12:00:00.000Z","messageId":"node-next-1","context":{"library":{"name":\
                "@segment/analytics-node","version":"2.2.1"}},"_metadata":{"nodeVersion":"22.1.0","jsRuntime":"node"}}],\
                "writeKey":"KEY","sentAt":"2026-01-31T12:00:01.000Z"}
                """, kinds: [.track], writeKey: "KEY"),
        Body(
            client: "analytics.js, one event", path: "/v1/t",
            json: """
                {"timestamp":"2026-01-31T12:00:00.000Z","integrations":{"Segment.io":true},"userId":null,"anonymousId":\
                "a","event":"A","properties":{},"context":{"page":{"path":"/","url":"https://example.org/?a=1&b=2"},\
                "userAgent":"Mozilla/5.0","locale":"en"},"messageId":"ajs-next-1","type":"track","writeKey":"KEY",\
                "sentAt":"2026-01-31T12:00:00.100Z","_metadata":{"bundled":["Segment.io"],"unbundled":[]}}
                """, kinds: [.track], writeKey: "KEY"),
        Body(
            client: "analytics.js, batched", path: "/v1/b",
            json: """
                {"writeKey":"KEY","batch":[{"timestamp":"2026-01-31T12:00:00.000Z","type":"page","anonymousId":"a",\
                "properties":{"title":"T"},"name":"Home","context":{},"messageId":"ajs-next-2"}],\
                "sentAt":"2026-01-31T12:00:00.100Z"}
                """, kinds: [.page], writeKey: "KEY"),
        Body(
            client: "analytics-go", path: "/v1/batch",
            json: """
                {"messageId":"b1","sentAt":"2026-01-31T12:00:01.123456789Z","batch":[{"type":"group","messageId":"m1",\
                "userId":"u","groupId":"g","timestamp":"2026-01-31T12:00:00.1Z","traits":{"name":"G"}},{"type":"alias",\
                "messageId":"m2","previousId":"p","userId":"u","timestamp":"2026-01-31T12:00:00Z","context":{"ip":"::1"}}],\
                "context":{"library":{"name":"analytics-go","version":"3.3.0"}}}
                """, kinds: [.group, .alias]),
        Body(
            client: "analytics-swift", path: "/v1/b",
            json: """
                { "batch" : [\n{"type":"screen","name":"Cart","anonymousId":"a","messageId":"m1","timestamp":\
                "2026-01-31T12:00:00.000Z","properties":{},"integrations":{},"context":{"device":{"id":"d"},"os":\
                {"name":"iOS"}},"_metadata":{"bundled":[],"unbundled":[],"bundledIds":[]}}\n,\
                {"type":"track","event":"Application Opened","anonymousId":"a","messageId":"m2","timestamp":\
                "2026-01-31T12:00:00.000Z","properties":{"from_background":false}}],\
                "sentAt":"2026-01-31T12:00:01.000Z","writeKey":"KEY"}
                """, kinds: [.screen, .track], writeKey: "KEY"),
        Body(
            client: "curl", path: "/v1/identify",
            json: "{\n  \"userId\": \"u\",\n  \"traits\": {\n    \"plan\": \"pro\"\n  },\n  \"writeKey\": \"KEY\"\n}\n",
            kinds: [.identify], writeKey: "KEY"),
    ]

    @Test(arguments: bodies) func `each event of a client is accepted, with sentAt and without a write key`(body: Body)
        throws
    {
        let path = Array(body.path.utf8)
        let found = TrackingEndpoint(path: path.span)
        let endpoint = try #require(found)
        let bytes = Array(body.json.utf8)
        let reader = TrackingRequestReader(limits: TrackingReading.limits)
        let (lines, writeKey) = try reader.read(bytes.span, for: endpoint)
        #expect(writeKey == body.writeKey)
        #expect(lines.refused.isEmpty)
        var accepted: [ScannedEvent] = []
        var refused: [RefusedLine] = []
        let scanner = EventScanner(maximumEventSize: 32 << 10, maximumDepth: 64)
        _ = scanner.scan(lines.bytes.span, accepted: &accepted, refused: &refused)
        #expect(refused.map(\.reason) == [])
        #expect(accepted.map(\.index.kind) == body.kinds)
        for line in lines.bytes.split(separator: 0x0A) {
            let event = try #require(StrictJSON.read(Array(line)))
            #expect(event.field("writeKey") == nil)
            #expect((event.field("sentAt") != nil) == body.json.contains("sentAt"))
            if body.client == "analytics-go" {
                #expect(event.field("context")?.field("library")?.field("name") == .string("analytics-go"))
            }
        }
    }
}
