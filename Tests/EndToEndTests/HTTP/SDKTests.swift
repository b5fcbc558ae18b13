import Control
import Foundation
import Testing

/// The SDKs of Segment, RudderStack and OpenTelemetry for Python, with another host and write key and no other change.
@Suite struct SDKTests {
    private static let python = Repository.root + "/.build/python-clients/bin/python3"

    /// Runs a program of Tests/Support/clients, with its first arguments. It is killed after two minutes.
    private func run(_ program: String, _ arguments: String...) throws -> Program {
        guard FileManager.default.isExecutableFile(atPath: Self.python) else {
            throw Failure("the SDKs are not installed (\(Self.python) is missing): run make setup-test")
        }
        let words = program.split(separator: " ").map(String.init)
        return try Program.run(
            "env",
            [
                "NO_PROXY=127.0.0.1", "timeout", "-s", "KILL", "120", Self.python,
                Repository.root + "/Tests/Support/clients/" + words[0],
            ] + words.dropFirst() + arguments)
    }

    private func daemon(journal: String = TestDaemon.plainJournal) throws -> TestDaemon {
        try TestDaemon(httpSource: TestDaemon.httpSource(), journal: journal)
    }

    @Test(arguments: ["tracking_client.py segment", "tracking_client.py rudderstack"], [[], ["--gzip"]])
    func `each of the six calls arrives once, with its values`(_ program: String, _ options: [String]) throws {
        let daemon = try daemon()
        try daemon.start()
        defer { daemon.kill9() }
        let result =
            options.isEmpty
            ? try run(program, daemon.url(), TestDaemon.writeKey, "1")
            : try run(program, daemon.url(), TestDaemon.writeKey, "1", "--gzip")
        #expect(result.status == 0, "\(result.output)\(result.errors)")

        let events = try daemon.stored()
        let types = events.compactMap { $0["type"] as? String }
        try #require(types.sorted() == ["alias", "group", "identify", "page", "screen", "track"])
        func event(_ type: String) -> [String: Any] { events[types.firstIndex(of: type) ?? 0] }
        func context(_ type: String) -> [String: Any] { event(type)["context"] as? [String: Any] ?? [:] }
        /// RudderStack's SDK sends traits in the context.
        func traits(_ type: String) -> [String: Any] {
            (event(type)["traits"] ?? context(type)["traits"]) as? [String: Any] ?? [:]
        }
        for type in ["identify", "track", "page", "group", "alias"] {
            #expect(event(type)["userId"] as? String == "user-0")
        }
        #expect(traits("identify")["email"] as? String == "user-0@example.org")
        #expect(event("track")["event"] as? String == "Order Completed")
        let properties = event("track")["properties"] as? [String: Any]
        #expect(properties?["total"] as? Double == 12.5 && properties?["number"] as? Int == 0)
        #expect(properties?["note"] as? String == "Grüße \"x\"\n")
        #expect(context("track")["ip"] as? String == "203.0.113.7")
        #expect((context("track")["app"] as? [String: Any])?["name"] as? String == "shop")
        #expect(event("page")["name"] as? String == "Home" && event("page")["category"] as? String == "Docs")
        #expect((event("page")["properties"] as? [String: Any])?["url"] as? String == "https://example.org/?a=1&b=2")
        #expect(
            event("screen")["anonymousId"] as? String == "anonymous-0" && event("screen")["name"] as? String == "Cart")
        #expect(event("group")["groupId"] as? String == "group-1" && traits("group")["employees"] as? Int == 7)
        #expect((event("group")["integrations"] as? [String: Bool])?["All"] == false)
        #expect(event("alias")["previousId"] as? String == "anonymous-0")
        #expect(events.allSatisfy { $0["sentAt"] is String && $0["timestamp"] is String && $0["writeKey"] == nil })
        #expect(Set(events.compactMap { $0["messageId"] as? String }).count == 6)
        let source = try daemon.status().sources["apps"]
        #expect(source?.accepted == 6 && source?.refused == 0)
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: ["tracking_client.py segment", "tracking_client.py rudderstack"])
    func `many messages arrive once each`(_ program: String) throws {
        let daemon = try daemon()
        try daemon.start()
        defer { daemon.kill9() }
        let result = try run(program, daemon.url(), TestDaemon.writeKey, "300", "--gzip")
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let events = try daemon.stored()
        #expect(events.count == 1800)
        #expect(Set(events.compactMap { $0["messageId"] as? String }).count == 1800)
        let tracks = events.filter { $0["type"] as? String == "track" }
        let numbers = tracks.compactMap { ($0["properties"] as? [String: Any])?["number"] as? Int }
        #expect(numbers == Array(0..<300), "the messages keep their order")
        #expect(daemon.terminate() == 0)
    }

    /// An SDK that does not understand the answer would try again, for minutes.
    @Test(arguments: ["tracking_client.py segment", "tracking_client.py rudderstack"])
    func `a wrong write key is an error that is not tried again`(_ program: String) throws {
        let daemon = try daemon()
        try daemon.start()
        defer { daemon.kill9() }
        let result = try run(program, daemon.url(), "another-write-key", "1")
        #expect(result.status == 1, "\(result.output)\(result.errors)")
        let report = try #require(jsonObject(String(result.output.split(separator: "\n").last ?? "")))
        let errors = try #require(report["errors"] as? [[String: Any]])
        #expect(errors.count == 1 && errors[0]["status"] as? Int == 401, "\(errors)")
        let text = errors.first?["error"] as? String ?? ""
        #expect(text.contains("unknown_write_key: the write key is missing or not known"), "\(text)")
        #expect(try daemon.refused("unknown_write_key") == 1, "one request")
        #expect(daemon.terminate() == 0)
    }

    @Test func `events of OpenTelemetry's SDK arrive once each, with their values`() throws {
        let daemon = try daemon()
        try daemon.start()
        defer { daemon.kill9() }
        let result = try run("otlp_events.py", daemon.url() + "/v1/logs", TestDaemon.writeKey, "2000")
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        try daemon.settle(accepted: 2000)
        let events = daemon.archived()
        #expect(events.compactMap { $0["messageId"] as? String } == (0..<2000).map { "otlp-\($0)" })
        #expect(events.compactMap { $0["userId"] as? String } == (0..<2000).map { "u\($0)" })
        let last = try #require(events.last)
        #expect(last["event"] as? String == "Order Completed")
        let properties = last["properties"] as? [String: Any]
        #expect(properties?["items"] as? Int == 1999 && properties?["total"] as? Double == 19.9)
        #expect(properties?["gift"] as? Bool == true && properties?["tags"] as? [String] == ["a", "b"])
        let app = (last["context"] as? [String: Any])?["app"] as? [String: Any]
        #expect(app?["name"] as? String == "otlp-events" && app?["version"] as? String == "1.0")
        let wrong = try run("otlp_events.py", daemon.url() + "/v1/logs", "another-write-key", "1")
        #expect(wrong.status == 1 && wrong.output.contains("0 of 1 events were exported, 1 failed"), "\(wrong)")
        #expect(wrong.errors.contains("Unauthorized"), "\(wrong.errors)")
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: ["tracking_client.py segment", "tracking_client.py rudderstack", "otlp_events.py"])
    func `an SDK sends its events again until the journal has room`(_ program: String) throws {
        let journal = "{ directory: journal, segment_size: 1MiB, retain: { size: 16MiB, time: 1m }, when_full: reject }"
        let daemon = try daemon(journal: journal)
        // This destination holds the journal's events.
        let held = """
            secrets: { directory: DIRECTORY/secrets }
            routes: [ { to: [archive, down] } ]
            destinations:
              archive: { file: archive.ndjson }
              down: { http: "http://127.0.0.1:1/", retry: { initial: 1h, max: 1h } }

            """
        try daemon.write(configuration: held, sources: TestDaemon.httpSource(), journal: journal)
        try daemon.start()
        defer { daemon.kill9() }
        let pad = #","context":{"pad":"\#(String(repeating: "x", count: 8000))"}"#
        try fill(daemon, with: pad)
        let before = try daemon.refused("journal_full")

        let isLogs = program == "otlp_events.py"
        let url = try daemon.url() + (isLogs ? "/v1/logs" : "")
        let sdk = BackgroundProgram { try run(program, url, TestDaemon.writeKey, "5") }
        try eventually("the SDK is refused, or has ended") {
            try daemon.refused("journal_full") > before || sdk.hasEnded
        }
        try #require(!sdk.hasEnded)
        #expect(try daemon.curl(daemon.url() + "/ready").output.hasSuffix("503\n"))
        try daemon.write(configuration: TestDaemon.toArchive, sources: TestDaemon.httpSource(), journal: journal)
        let reload = try daemon.reload()
        try #require(reload.applied, "\(reload.errors)")
        let result = try sdk.result()
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        try daemon.settle()
        let own = daemon.archived().filter {
            let library = ($0["context"] as? [String: Any])?["library"] as? [String: Any]
            return ["analytics-python", "otlp_events"].contains(library?["name"] as? String)
        }
        // The events of `group` are for no destination.
        #expect(own.count == (isLogs ? 5 : 25))
        #expect(Set(own.compactMap { $0["messageId"] as? String }).count == own.count)
        #expect(daemon.terminate() == 0)
    }

    /// Sends events until the journal has no room even for small ones.
    private func fill(_ daemon: TestDaemon, with fields: String) throws {
        for fields in [fields, ""] {
            try eventually("the journal is full") {
                let before = try daemon.refused("journal_full")
                let lines = (0..<500).map { event($0, name: "Filling", fields: fields) + "\n" }.joined()
                _ = try daemon.penstock("send", "--acks", input: lines)
                return try daemon.refused("journal_full") >= before + 500
            }
        }
    }
}
