import Control
import Foundation
import Testing

/// The presets for AWS against moto's server, which verifies each signature and permission.
@Suite(.serialized, WithAWSServer(names: ["shop", "held", "part", "keys"]))
struct AWSServiceTests {
    private static let region = "eu-central-1"

    private let server: AWSServer

    init() throws {
        server = try #require(AWSServer.current)
    }

    // MARK: Daemons and events

    /// A daemon that sends each event to all of these destinations.
    private func daemon(_ destinations: KeyValuePairs<String, String>, secret: String = "") throws -> TestDaemon {
        let lines = destinations.map { (name, keys) -> String in
            "  \(name): { \(keys), region: \(Self.region), retry: { initial: 10ms, max: 200ms }, batch: { wait: 300ms } }\n"
        }
        let names = destinations.map { $0.key }.joined(separator: ", ")
        let daemon = try TestDaemon(
            configuration: "secrets: { directory: DIRECTORY/secrets }\nroutes: [ { to: [\(names)] } ]\ndestinations:\n"
                + lines.joined())
        try FileManager.default.createDirectory(atPath: daemon.path("secrets"), withIntermediateDirectories: false)
        try secret.write(toFile: daemon.path("secrets/key"), atomically: true, encoding: .utf8)
        return daemon
    }

    /// A daemon with a destination for each preset.
    /// - Parameters:
    ///   - name: the name of the resources.
    ///   - key: the id and the secret of the access key.
    private func daemon(_ name: String, _ key: [String]) throws -> TestDaemon {
        let url = #"url: "\#(server.services.http)""#
        let keys = "key_id: \(key[0]), key: !secret key"
        return try daemon(
            [
                "s3": #"""
                preset: s3, url: "\#(server.host(of: name))", tls: { ca_file: \#(server.certificate) }, bucket: \#(name), \#
                storage_class: STANDARD_IA, \#(keys)
                """#,
                "store": #"""
                preset: s3_compatible, endpoint: "\#(server.services.http)", bucket: \#(name)-store, prefix: web/a%20b, \#
                \#(keys)
                """#,
                "lake": "preset: firehose, \(url), stream: \(name), \(keys)",
                "stream": "preset: kinesis, \(url), stream: \(name), \(keys)",
                "queue": #"preset: sqs, \#(url), queue_url: "\#(server.queue(name))", \#(keys)"#,
                "fifo": #"preset: sqs, \#(url), queue_url: "\#(server.queue(name)).fifo", order: user, \#(keys)"#,
                "bus": "preset: eventbridge, \(url), event_bus: \(name), source: shop.web, \(keys)",
                "logs": "preset: cloudwatch_logs, \(url), log_group: /\(name), log_stream: web-1, \(keys)",
            ], secret: key[1])
    }

    private static func track(_ number: Int, _ properties: String) -> String {
        #"{"type":"track","event":"Order \#(number)","messageId":"m-\#(number)","userId":"u\#(number % 3)","#
            + #""properties":{\#(properties)}}"#
    }

    /// All kinds of event, and a message id and an anonymous id that SQS does not accept.
    private static let events: [String] =
        (10..<35).map { track($0, #""total":19.90,"note":"Grüße \"x\"\n😀","number":\#($0)"#) } + [
            #"{"type":"identify","messageId":"k1","userId":"7","traits":{"plan":"pro"}}"#,
            #"{"type":"page","name":"Home","messageId":"k2","userId":"7"}"#,
            #"{"type":"screen","name":"Cart","messageId":"k3","userId":"7"}"#,
            #"{"type":"group","messageId":"k4","userId":"7","groupId":"g"}"#,
            #"{"type":"alias","messageId":"k5","userId":"7","previousId":"8"}"#,
            #"{"type":"track","event":"Odd","messageId":"an odd/id ü","anonymousId":"visitor ü"}"#,
        ]

    private func send(_ events: [String], to daemon: TestDaemon) throws {
        let client = try EventClient(daemon)
        try client.send(events.map { $0 + "\n" }.joined())
        #expect(try client.acknowledgement(of: events.count).lines == events.count)
    }

    /// The ids and reasons of a destination's dead letters.
    private func letters(_ destination: String, of daemon: TestDaemon) throws -> [String] {
        let listed = try daemon.penstock("dead-letters", "list", destination, "--json")
        #expect(listed.status == 0, "\(listed.errors)")
        return listed.output.split(separator: "\n").compactMap { jsonObject(String($0)) }.map {
            "\($0["messageId"] ?? "?"): \($0["reason"] ?? "?")"
        }
    }

    // MARK: What arrived

    private func lines(_ objects: [AWSServer.Content.Object]) -> [String] {
        objects.flatMap { $0.text.split(separator: "\n").map(String.init) }
    }

    /// The entry's detail.
    private func detail(_ message: AWSServer.Content.Message) throws -> [String: Any] {
        try #require(jsonObject(message.text)?["detail"] as? [String: Any])
    }

    private func ids(_ texts: [String]) -> [String] {
        texts.map { jsonObject($0)?["messageId"] as? String ?? "?" }
    }

    /// One text for equal events. The times that Penstock adds must exist and are left out.
    private func normalised(_ event: [String: Any]?, withTimes: Bool = true) throws -> String {
        var event = try #require(event)
        if withTimes {
            let times = ["timestamp", "receivedAt"].map { event.removeValue(forKey: $0) as? String }
            #expect(!times.contains(nil), "\(event)")
        }
        return String(
            decoding: try JSONSerialization.data(withJSONObject: event, options: .sortedKeys), as: UTF8.self)
    }

    @Test func `each service stores each event once, and verifies each signature`() throws {
        let key = server.services.penstock
        let daemon = try daemon("shop", key)
        try daemon.start()
        try send(Self.events, to: daemon)
        try daemon.settle(accepted: UInt64(Self.events.count))
        let status = try daemon.status().destinations
        #expect(status.count == 8)
        for (name, destination) in status { #expect(destination.deadLettered == 0, "\(name)") }

        let content = try server.read("shop")
        #expect(lines(content.s3) == Self.events, "S3 stores the events as they are")
        #expect(lines(content.store) == Self.events)
        for object in content.s3 + content.store {
            #expect(object.encoding == "gzip" && object.type == "application/x-ndjson")
            #expect(object.key.contains(#/\/date=\d{4}-\d\d-\d\d\/hour=\d\d\/[^\/]+\.ndjson\.gz$/#), "\(object.key)")
        }
        #expect(content.s3.allSatisfy { $0.key.hasPrefix("events/") && $0.storageClass == "STANDARD_IA" })
        #expect(content.store.allSatisfy { $0.key.hasPrefix("web/a b/") && $0.storageClass == "STANDARD" })

        let sent = try Self.events.map { try normalised(jsonObject($0), withTimes: false) }.sorted()
        for (name, texts) in [
            "lake": lines(content.lake), "stream": content.stream.map(\.text), "queue": content.queue.map(\.text),
            "fifo": content.fifo.map(\.text), "logs": content.logs.map(\.text),
        ] {
            #expect(try texts.map { try normalised(jsonObject($0)) }.sorted() == sent, "\(name)")
        }
        #expect(try content.bus.map { try normalised(detail($0)) }.sorted() == sent)

        let shards = Dictionary(grouping: content.stream, by: \.key).mapValues { Set($0.map(\.shard)) }
        #expect(Set(shards.keys) == ["u0", "u1", "u2", "7", "visitor ü"])
        #expect(shards.values.allSatisfy { $0.count == 1 }, "a user's events are in one shard")

        for user in ["u0", "u1", "u2", "7"] {
            let messages = content.fifo.filter { $0.group == user }
            #expect(messages.map(\.deduplication) == ids(messages.map(\.text)))
            let own = Self.events.filter { jsonObject($0)?["userId"] as? String == user }
            #expect(ids(messages.map(\.text)) == ids(own), "a group keeps the order of its events")
        }
        let odd = content.fifo.filter { $0.text.contains("an odd/id") }
        #expect(odd.count == 1 && odd[0].group.count == 64 && odd[0].deduplication.count == 64, "hashes")

        let types = Set(content.bus.compactMap { jsonObject($0.text)?["detail-type"] as? String })
        let names = (10..<35).map { "Order \($0)" } + ["identify", "page", "screen", "group", "alias", "Odd"]
        #expect(types == Set(names))
        #expect(content.logs.map(\.time) == content.logs.map(\.time).sorted())
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        #expect(content.logs.allSatisfy { (now - 600_000...now).contains($0.time) }, "the time of receipt")

        #expect(
            Set(content.requests.map(\.service)) == ["s3", "kinesis", "firehose", "sqs", "events", "logs"])
        for request in content.requests {
            #expect(request.key == key[0] && request.region == Self.region && request.token == "", "\(request)")
            // TLS protects the body, so S3 does not need its hash.
            #expect(request.hash == (request.line.hasPrefix("PUT https:") ? "UNSIGNED-PAYLOAD" : "body"), "\(request)")
        }
        #expect(content.requests.contains { $0.hash == "UNSIGNED-PAYLOAD" })
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: ["a wrong key", "no permission", "no resource"])
    func `what an operator must repair holds the events`(problem: String) throws {
        let services = server.services
        let (name, key, causes) =
            switch problem {
            case "a wrong key": ("held", [services.penstock[0], "wrong"], ["SignatureDoesNotMatch"])
            case "no permission": ("held", services.guest, ["AccessDenied"])
            default:
                ("none", services.penstock, ["NoSuchBucket", "QueueDoesNotExist", "ResourceNotFoundException"])
            }
        let daemon = try daemon(name, key)
        try daemon.start()
        try send([Self.events[0]], to: daemon)
        try eventually("all destinations are held") {
            try daemon.status().destinations.values.allSatisfy { $0.state == .held }
        }
        for (name, destination) in try daemon.status().destinations {
            #expect(destination.deadLettered == 0 && destination.lagEvents == 1, "\(name)")
            let answer = destination.lastAnswer ?? ""
            #expect(causes.contains { answer.contains($0) }, "\(name): \(answer)")
        }
        #expect(daemon.terminate() == 0)
        let content = try server.read("held")
        #expect(content.s3.count + content.store.count + content.lake.count + content.stream.count == 0)
        #expect(content.queue.count + content.fifo.count + content.bus.count + content.logs.count == 0)
    }

    @Test func `only the rejected events become dead letters`() throws {
        let services = server.services
        let keys = #"url: "\#(services.http)", key_id: \#(services.penstock[0]), key: !secret key"#
        let id = "{ $json: { mode: encode, value: { messageId: $.messageId } } }"
        let daemon = try daemon(
            [
                // A message that is too large fails the whole request.
                "small": #"preset: sqs, queue_url: "\#(server.queue("part-small"))", in_flight: 1, \#(keys)"#,
                // An invalid delay fails one message of a request.
                "queue": #"""
                preset: sqs, queue_url: "\#(server.queue("part"))", \#(keys), \#
                mapping: { Id: $.messageId, MessageBody: \#(id), DelaySeconds: $.properties.delay }
                """#,
                // A missing source fails one entry of a request.
                "bus": """
                preset: eventbridge, \(keys), \
                mapping: { EventBusName: part, Source: $.properties.source, DetailType: $.event, Detail: \(id) }
                """,
            ], secret: services.penstock[1])
        let pad = String(repeating: "x", count: 1100)
        let good = #""delay":0,"source":"shop.web""#
        try daemon.start()
        try send(
            [
                Self.track(0, good), Self.track(1, #""delay":0,"source":"shop.web","pad":"\#(pad)""#),
                Self.track(2, #""delay":901,"source":"shop.web""#), Self.track(3, #""delay":0"#), Self.track(4, good),
                // SQS rejects a request in which two messages have the same id.
                Self.track(4, good),
            ], to: daemon)
        try daemon.settle(accepted: 6)
        #expect(try letters("small", of: daemon) == ["m-1: HTTP 400"])
        #expect(try letters("queue", of: daemon) == ["m-2: HTTP 200"])
        #expect(try letters("bus", of: daemon) == ["m-3: HTTP 200"])
        let content = try server.read("part")
        #expect(ids(content.small.map(\.text)).sorted() == ["m-0", "m-2", "m-3", "m-4", "m-4"])
        #expect(ids(content.queue.map(\.text)).sorted() == ["m-0", "m-1", "m-3", "m-4", "m-4"])
        let entries = try content.bus.map { try detail($0)["messageId"] as? String ?? "?" }
        #expect(entries.sorted() == ["m-0", "m-1", "m-2", "m-4", "m-4"])
        #expect(daemon.terminate() == 0)
    }

    // MARK: Keys of the environment

    /// Runs the daemon with these variables until it has delivered one event.
    private func deliver(_ daemon: TestDaemon, with variables: [String: String]) throws {
        try daemon.start(
            environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("AWS_") }
                .merging(["HOME": daemon.directory]) { $1 }.merging(variables) { $1 })
        try send([Self.events[0]], to: daemon)
        try daemon.settle(accepted: 1)
        #expect(try daemon.status().destinations["queue"]?.deadLettered == 0)
    }

    @Test(arguments: ["variables", "a file", "a web identity", "an instance"])
    func `requests are signed with keys of the environment`(origin: String) throws {
        let services = server.services
        let daemon = try daemon(
            ["queue": #"preset: sqs, url: "\#(services.http)", queue_url: "\#(server.queue("keys"))""#])
        defer { try? server.exempt("0") }
        var variables: [String: String] = [:]
        switch origin {
        case "variables":
            variables["AWS_ACCESS_KEY_ID"] = services.penstock[0]
            variables["AWS_SECRET_ACCESS_KEY"] = services.penstock[1]
        case "a file":
            try """
            [shop]
            aws_access_key_id = \(services.penstock[0])
            aws_secret_access_key = \(services.penstock[1])
            """.write(toFile: daemon.path("credentials"), atomically: true, encoding: .utf8)
            variables["AWS_SHARED_CREDENTIALS_FILE"] = daemon.path("credentials")
            variables["AWS_PROFILE"] = "shop"
        case "a web identity":
            try "a.web.token\n".write(toFile: daemon.path("token"), atomically: true, encoding: .utf8)
            variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = daemon.path("token")
            variables["AWS_ROLE_ARN"] = services.role
            variables["AWS_ENDPOINT_URL_STS"] = services.http
            // AssumeRoleWithWebIdentity has no signature, but moto asks for one.
            try server.exempt("1")
        default:
            variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = services.http
            // moto's metadata service has keys that moto does not accept.
            try server.exempt("inf")
        }
        try deliver(daemon, with: variables)
        try server.exempt("0")

        let content = try server.read("keys")
        #expect(ids(content.queue.map(\.text)) == ["m-10"])
        let signed = content.requests.filter { $0.service == "sqs" }
        let request = try #require(signed.first)
        #expect(signed.count == 1 && request.hash == "body")
        switch origin {
        case "a web identity":
            #expect(content.requests.count == 2 && request.key.hasPrefix("ASIA") && !request.token.isEmpty)
        case "an instance":
            let lines = content.requests.map { $0.line.replacingOccurrences(of: services.http, with: "") }
            #expect(
                lines == [
                    "PUT /latest/api/token", "GET /latest/meta-data/iam/security-credentials/",
                    "GET /latest/meta-data/iam/security-credentials/default-role", "POST /",
                ])
            #expect(request.key == "test-key" && request.token == "test-session-token")
        default:
            #expect(content.requests.count == 1 && request.key == services.penstock[0] && request.token == "")
        }
    }
}
