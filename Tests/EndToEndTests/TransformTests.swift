import Control
import Foundation
import Testing

/// How events change on their way through the real daemon, and how `penstock explain` describes the same events
/// afterwards.
@Suite struct TransformTests {
    private static let configuration = """
        pipeline:
          - set: { context.host: h1 }
        routes:
          - { to: [plain, mapped, cold] }
          - where: event = "Cart" or event = "Broken"
            transforms:
              - lua: |
                  if event.event == "Broken" then error("no cart") end
                  local parts = {}
                  for i, item in ipairs(event.properties.items) do
                    parts[i] = { type = "track", event = "Item", userId = event.userId, properties = { item = item } }
                  end
                  return parts
            to: [items]
        destinations:
          plain: { file: plain.ndjson }
          mapped:
            file: mapped.ndjson
            transforms: [ { drop: [properties.secret] }, { name_case: { to: snake, keys: false } } ]
            mapping: { name: $.event, who: "user {{ userId }}", where: $.context.host, rest: $.properties }
          items: { file: items.ndjson }
          cold: { file: cold.ndjson, where: properties.temperature < 0 }
        """

    @Test func `events are scrubbed, changed, mapped and split`() throws {
        let daemon = try TestDaemon(
            configuration: Self.configuration,
            sources: "{ apps: { socket: events.sock, scrub: [ { drop: [context.ip] } ] } }")
        try daemon.start()
        let client = try EventClient(daemon)
        let texts = [
            #"{"type":"track","event":"Order Completed","userId":"u1","messageId":"m1","context":{"ip":"10.0.0.1"},"properties":{"secret":1,"total":19.90}}"#,
            #"{"type":"track","event":"Cart","userId":"u2","messageId":"m2","properties":{"items":["a","b"]}}"#,
            #"{"type":"track","event":"Broken","userId":"u3","messageId":"m3","properties":{}}"#,
        ]
        try client.send(texts.joined(separator: "\n") + "\n")
        #expect(try client.acknowledgement(of: 3).lines == 3)
        try daemon.settle()

        let plain = daemon.lines("plain.ndjson")
        #expect(plain.count == 3)
        #expect(!plain.joined().contains("10.0.0.1"), "the address is not even stored")
        #expect(plain.first?.contains(#""total":19.90"#) == true, "unchanged values keep their bytes")
        #expect(
            daemon.lines("mapped.ndjson").first
                == #"{"name":"order_completed","who":"user u1","where":"h1","rest":{"total":19.90}}"#)
        let items = daemon.lines("items.ndjson").compactMap(jsonObject)
        #expect(items.compactMap { ($0["properties"] as? [String: Any])?["item"] as? String } == ["a", "b"])
        #expect(Set(items.compactMap { $0["messageId"] as? String }).count == 2)
        #expect(daemon.lines("cold.ndjson").isEmpty)
        let status = try daemon.status()
        #expect(status.destinations["items"]?.deadLettered == 1)
        #expect(status.destinations["cold"]?.filtered == 3)
        let letters = try daemon.penstock("dead-letters", "list", "items", "--control", daemon.control, "--json")
        #expect(
            letters.output.contains("no cart") && letters.output.contains("\"m3\""),
            "\(letters.output)\(letters.errors)")
    }

    @Test func `a transform's state survives kill -9 and a reload`() throws {
        let configuration = """
            routes: [ { to: [once, few] } ]
            destinations:
              once: { file: once.ndjson, transforms: [ { dedupe: messageId } ] }
              few: { file: few.ndjson, transforms: [ { throttle: { events: 3, every: 365d, by: userId } } ] }
            """
        let daemon = try TestDaemon(configuration: configuration)
        try daemon.start()
        func send(_ numbers: Range<Int>) throws {
            let sent = try daemon.penstock("send", "--acks", input: events(numbers))
            try #require(sent.status == 0, "\(sent.errors)")
            try daemon.settle()
        }
        try send(0..<2)
        daemon.kill9()
        try daemon.start()
        // A client that got no acknowledgement sends its events again.
        try send(0..<4)
        try daemon.write(
            configuration: configuration.replacing("dedupe: messageId", with: "dedupe: { by: messageId, within: 2h }"))
        #expect(try daemon.reload().applied)
        try send(2..<5)
        #expect(daemon.lines("once.ndjson").compactMap(number) == Array(0..<5))
        #expect(daemon.lines("few.ndjson").compactMap(number) == [0, 1, 0])
        let status = try daemon.status()
        #expect(status.destinations["few"]?.filteredByReason["throttle"] == 6)
        #expect(daemon.terminate() == 0)
    }

    @Test func `an explanation of a stored event accounts for earlier events`() throws {
        let once = "once: { file: once.ndjson, transforms: [ { dedupe: messageId } ] }"
        let late = "late: { file: late.ndjson, transforms: [ { dedupe: messageId } ] }"
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [once], transforms: [ { throttle: { events: 3, every: 365d } } ] } ]
                destinations: { \(once) }
                """)
        try daemon.start()
        func send(_ numbers: Range<Int>) throws {
            try #require(daemon.penstock("send", "--acks", input: events(numbers)).status == 0)
            try daemon.settle()
        }
        try send(0..<2)
        try daemon.write(
            configuration: """
                routes:
                  - { to: [once], transforms: [ { throttle: { events: 3, every: 365d } } ] }
                  - { to: [late] }
                destinations: { \(once), \(late) }
                """)
        #expect(try daemon.reload().applied)
        try send(0..<3)
        #expect(daemon.lines("once.ndjson").compactMap(number) == [0, 1])
        #expect(daemon.lines("late.ndjson").compactMap(number) == [0, 1, 2])
        for (position, reason) in [(0, nil), (1, nil), (2, "dedupe"), (3, "throttle"), (4, "throttle")]
            as [(Int, String?)]
        {
            let result = try Self.explain(daemon, "--from-journal", "\(position)", "--json")
            let explained = try #require(jsonObject(result.output)?["destinations"] as? [String: [String: Any]])
            #expect(explained["once"]?["reason"] as? String == reason, "\(position): \(result.output)")
            #expect(explained["late"]?["verdict"] as? String == "routed", "\(position): \(result.output)")
            let steps = try #require(explained["once"]?["steps"] as? [[String: Any]])
            #expect(steps.first { $0["outcome"] as? String == "dropped" }?["step"] as? String == reason)
            #expect(!result.output.contains("earlier_events"))
        }
        // For an event that is not stored, earlier events are unknown.
        let given = try Program.penstock(["explain", "--config", daemon.configurationFile, "--json"], input: event(0))
        #expect(
            given.output.contains(
                #""step":"dedupe","of":"destination","earlier_events":"unknown","outcome":"unchanged""#),
            "\(given.output)")
    }

    @Test func `explain reads the journal of a running daemon`() throws {
        let daemon = try TestDaemon(configuration: Self.configuration)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<20))
        #expect(try client.acknowledgement(of: 20).lines == 20)
        let byPosition = try Self.explain(daemon, "--from-journal", "7", "--json")
        #expect(byPosition.status == 0, "\(byPosition.errors)")
        #expect(number(in: byPosition.output) == 7, "\(byPosition.output)")
        let last = try Self.explain(daemon, "--where", #"event = "Tested""#, "--destination", "cold")
        #expect(last.status == 0, "\(last.errors)")
        #expect(last.output.contains("properties.temperature is missing"), "\(last.output)")
        let nothing = try Self.explain(daemon, "--from-journal", "99")
        #expect(nothing.status == 2)
        #expect(nothing.errors.contains("99"), "\(nothing.errors)")
    }

    private static func explain(_ daemon: TestDaemon, _ arguments: String...) throws -> Program {
        try Program.penstock(["explain", "--config", daemon.configurationFile] + arguments)
    }
}
