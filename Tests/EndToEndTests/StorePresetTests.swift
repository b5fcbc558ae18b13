import Foundation
import TestSupport
import Testing

/// Presets of services that store events: databases, search engines, logs, and the user's own addresses.
extension PresetDeliveryTests {
    private static let otherKinds = [
        #"{"type":"identify","messageId":"k1","userId":"7","traits":{"plan":"pro"}}"#,
        #"{"type":"page","name":"Home","messageId":"k2","userId":"7"}"#,
        #"{"type":"screen","name":"Cart","messageId":"k3","userId":"7"}"#,
        #"{"type":"group","messageId":"k4","userId":"7","groupId":"g"}"#,
        #"{"type":"alias","messageId":"k5","userId":"7","previousId":"8"}"#,
    ]

    @Test func `webhooks have a signature that openssl verifies, and only a rejected event is dead-lettered`() throws {
        let service = try AnalyticsService { request, ledger in
            if ledger.count() == 0 { return .status(503, headers: ["Retry-After: 0"]) }
            guard let event = request.json as? [String: Any], event["event"] as? String != "Refused" else {
                return .status(422)
            }
            ledger.take("\(event["messageId"] ?? "?")")
            return .status(200)
        }
        let daemon = try daemon("webhook", service.address + "/in", "secret: !secret key, in_flight: 1")
        let letters = try run(daemon, [track("A", "m1"), track("Refused", "m2"), track("B", "m3")] + Self.otherKinds)
        #expect(service.taken.sorted() == ["k1", "k2", "k3", "k4", "k5", "m1", "m3"])
        #expect(letters == ["m2: HTTP 422"])
        for request in service.server.requests {
            let time = try #require(request.headers["x-penstock-timestamp"])
            let made = try Program.run(
                "openssl", ["dgst", "-sha256", "-hmac", "s3/cret", "-r"], input: "\(time).\(request.text)")
            #expect(request.headers["x-penstock-signature"] == "sha256=\(made.output.prefix(64))", "\(made.errors)")
            #expect(request.line == "POST /in HTTP/1.1")
        }
        #expect(daemon.terminate() == 0)
    }

    @Test func `ClickHouse stores rows, and only a row that it cannot read becomes a dead letter`() throws {
        let server = try ClickHouseServer(password: "s3/cret")
        let text = [
            "message_id", "type", "event", "name", "anonymous_id", "group_id", "previous_id", "properties", "traits",
            "context",
        ]
        try server.query(
            "CREATE TABLE events (\(text.map { "\($0) String" }.joined(separator: ", ")), user_id UInt32, timestamp DateTime, received_at DateTime) "
                + "ENGINE = ReplacingMergeTree ORDER BY (type, event, timestamp, message_id)")
        let daemon = try daemon(
            "clickhouse", server.address, #"table: default.events, password: !secret key, async_insert: "no""#)
        let timed = #","timestamp":"2026-01-31T08:59:59.5+01:00","properties":{"total":19.90},"anonymousId":null"#
        let letters = try run(
            daemon,
            [track("Order", "m1", user: "7", timed), track("B", "m2", user: "ada"), track("C", "m3", user: "8")]
                + Self.otherKinds)
        #expect(letters == ["m2: HTTP 400"] || letters == ["m2: HTTP 500"], "a word is not a number")
        #expect(
            try server.query("SELECT message_id, type, user_id FROM events ORDER BY message_id FORMAT CSV").split(
                separator: "\n")
                == [
                    #""k1","identify",7"#, #""k2","page",7"#, #""k3","screen",7"#, #""k4","group",7"#,
                    #""k5","alias",7"#, #""m1","track",7"#,
                    #""m3","track",8"#,
                ])
        #expect(
            try server.query(
                "SELECT toUnixTimestamp(timestamp), properties FROM events WHERE message_id = 'm1' FORMAT TSVRaw")
                == "1769846399\t{\"total\":19.90}\n")
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: [
        ("api_key: !secret key, index: shop-events", "elasticsearch", "ApiKey s3/cret"),
        ("user: !secret key, password: !secret key, index: shop-events", "opensearch", "Basic czMvY3JldDpzMy9jcmV0"),
    ])
    func `search engines store no event twice`(_ keys: String, _ preset: String, _ authorization: String) throws {
        let service = try BulkService(authorization: authorization)
        let daemon = try daemon(preset, service.address, "\(keys), in_flight: 1")
        let letters = try run(
            daemon,
            [track("A", "m1"), track("Refused", "m2"), track("Busy", "m3"), track("B", "m4"), track("A", "m1")]
                + Self.otherKinds)
        #expect(service.taken.sorted() == ["A", "B", "Busy", "alias", "group", "identify", "page", "screen"])
        #expect(letters == ["m2: HTTP 200"])
        #expect(daemon.terminate() == 0)
    }

    @Test func `Datadog gets halved batches until the invalid log is alone`() throws {
        let service = try DatadogService(key: "s3/cret")
        let daemon = try daemon("datadog", service.address, "api_key: !secret key, in_flight: 1")
        let letters = try run(
            daemon,
            [
                track("A", "m1"), track("Refused", "m2"), track("B", "m3"),
                track("Old", "m4", #","timestamp":"2020-01-01T00:00:00Z""#),
            ]
                + Self.otherKinds)
        #expect(
            service.taken.sorted() == [
                "A", "B", "Group Identified", "Page Viewed", "Screen Viewed", "User Aliased", "User Identified",
            ])
        #expect(letters.sorted() == ["m2: HTTP 400", "m4: not sent: timestamp is more than 18 h ago"])
        #expect(daemon.terminate() == 0)
    }

    @Test func `Loki stores each line once, and a line that is too old becomes a dead letter`() throws {
        let service = try LokiService(tenant: "t1")
        let daemon = try daemon("loki", service.address, "tenant: t1, in_flight: 1")
        let letters = try run(
            daemon,
            [
                track("A", "m1"), track("Old", "m2", #","timestamp":"2020-01-01T00:00:00Z""#), track("B", "m3"),
                track("C", "m4"),
            ] + Self.otherKinds)
        #expect(
            service.taken.sorted() == [
                "alias k5", "group k4", "identify k1", "page k2", "screen k3", "track m1", "track m3", "track m4",
            ])
        #expect(letters == ["m2: HTTP 400"])
        #expect(daemon.terminate() == 0)
    }

    @Test func `CloudKit gets requests with a signature that openssl verifies, and responds record by record`() throws {
        let service = try CloudKitService()
        let daemon = try daemon(
            "cloudkit", service.address,
            "container: iCloud.com.example.shop, environment: development, key_id: 0123456789abcdef, private_key: !secret key, in_flight: 1"
        )
        let keys = try Program.run(
            "sh",
            [
                "-c",
                #"cd "$1" && openssl ecparam -name prime256v1 -genkey -noout -out secrets/key && openssl ec -in secrets/key -pubout -out public"#,
                "sh", daemon.directory,
            ])
        #expect(keys.status == 0, "\(keys.errors)")
        let letters = try run(
            daemon,
            [track("A", "m1"), track("Refused", "m2"), track("Busy", "m3"), track("B", "m4"), track("A", "m1")]
                + Self.otherKinds)
        #expect(
            service.taken.sorted()
                == [
                    "a", "b", "busy", "group_identified", "page_viewed", "screen_viewed", "user_aliased",
                    "user_identified",
                ].map { "AnalyticsEvent." + $0 })
        #expect(letters == ["m2: HTTP 200"])
        let path = "/database/1/iCloud.com.example.shop/development/public/records/modify"
        let verify = #"""
            cd "$1" && printf %s "$4" | base64 -d > signature &&
            printf %s "$2:$(openssl dgst -sha256 -binary body | base64 -w0):$3" | openssl dgst -sha256 -verify public -signature signature
            """#
        for request in service.server.requests {
            #expect(request.line == "POST \(path) HTTP/1.1")
            #expect(request.headers["x-apple-cloudkit-request-keyid"] == "0123456789abcdef")
            let date = try #require(request.headers["x-apple-cloudkit-request-iso8601date"])
            #expect(date.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil, "\(date)")
            let signature = try #require(request.headers["x-apple-cloudkit-request-signaturev1"])
            try Data(request.body).write(to: URL(fileURLWithPath: daemon.path("body")))
            let verified = try Program.run("sh", ["-c", verify, "sh", daemon.directory, date, path, signature])
            #expect(verified.output == "Verified OK\n", "\(verified.errors)")
        }
        #expect(daemon.terminate() == 0)
    }

    @Test func `check finds an invalid private key and does not show it`() throws {
        let daemon = try daemon(
            "cloudkit", "http://127.0.0.1:1",
            "container: iCloud.com.example.shop, key_id: 0123456789abcdef, private_key: !secret key")
        let checked = try Program.penstock(["check", "--config", daemon.configurationFile])
        #expect(
            checked.status == 1 && checked.errors.contains("error: the private key is not PEM"), "\(checked.errors)")
        #expect(!checked.errors.contains("s3/cret"))
    }
}
