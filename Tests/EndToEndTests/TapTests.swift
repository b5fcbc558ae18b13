import Control
import Foundation
import TestSupport
import Testing

/// `penstock tap`: what it shows at each stage.
@Suite struct TapTests {
    private static let archive = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    @Test func `an accepted event is shown as it was sent, with its place and its sender`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        try EventClient(daemon, acknowledgements: false).send(events(0..<3))
        try daemon.settle(accepted: 3)
        let tap = try TapProcess(daemon)
        let client = try EventClient(daemon)
        let odd = #"{"messageId": "odd",  "type":"track","event":"Ü \"q\"","userId":"u","properties":{"a":[1, 2.50]}}"#
        try client.send(odd + "\n" + event(4) + "\n")
        #expect(try client.acknowledgement(of: 2).lines == 2)
        let records = try tap.records(2)
        #expect(records.map { $0["position"] as? Int } == [3, 4], "earlier events are not shown: \(tap.text)")
        #expect(records.allSatisfy { $0["stage"] as? String == "accepted" && $0["source"] as? String == "apps" })
        let peers = records.compactMap { $0["peer"] as? [String: Int] }
        #expect(peers.count == 2 && peers.allSatisfy { $0["pid"] == Int(getpid()) && $0["uid"] == Int(getuid()) })
        #expect((records[0]["received_at"] as? String)?.hasSuffix("Z") == true)
        #expect(tap.text.contains(#","event":"# + odd + "}\n"), "the event's bytes are unchanged: \(tap.text)")
        tap.signal(SIGINT)
        #expect(try tap.end() == 0)
        #expect(tap.text.hasSuffix("}\n") && tap.errorText == "")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a filter selects events, and a limit ends the command`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let tap = try TapProcess(daemon, "--where", #"event = "Wanted""#, "--limit", "2")
        let client = try EventClient(daemon)
        for number in 0..<6 { try client.send(event(number, name: number % 2 == 0 ? "Other" : "Wanted") + "\n") }
        #expect(try client.acknowledgement(of: 6).lines == 6)
        #expect(try tap.end() == 0)
        #expect(tap.records.map { $0["position"] as? Int } == [1, 3])
        #expect(tap.errorText == "")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a destination's answers are shown with what it was given, without secrets`() throws {
        let receiver = try HTTPReceiver([.status(503, body: "later, s3cret"), .status(200)])
        let daemon = try TestDaemon(
            configuration: """
                secrets: { directory: DIRECTORY/secrets }
                routes: [ { to: [other] }, { name: orders, where: 'event = "Order"', to: [sales] } ]
                destinations:
                  other: { file: archive.ndjson }
                  sales:
                    http: "\(receiver.url)"
                    headers: { Authorization: "Bearer {{ secret.token }}" }
                    mapping: { name: $.event, key: !secret token, id: $.messageId }
                    retry: { initial: 10ms }
                """)
        try FileManager.default.createDirectory(atPath: daemon.path("secrets"), withIntermediateDirectories: false)
        try "s3cret".write(toFile: daemon.path("secrets/token"), atomically: true, encoding: .utf8)
        try daemon.start()
        let sent = try TapProcess(daemon, "--destination", "sales")
        let routed = try TapProcess(daemon, "--destination", "sales", "--stage", "routed")
        let filtered = try TapProcess(daemon, "--destination", "sales", "--where", "properties.total > 5")
        let client = try EventClient(daemon)
        try client.send(
            event(0, name: "Order", fields: #","properties":{"total":9}"#) + "\n" + event(1, name: "View") + "\n"
                + event(2, name: "Order", fields: #","properties":{"total":1}"#) + "\n")
        #expect(try client.acknowledgement(of: 3).lines == 3)
        try daemon.settle()

        let attempts = try sent.records(4).filter { $0["position"] as? Int == 0 }
        #expect(attempts.map { $0["outcome"] as? String } == ["retry", "delivered"], "\(sent.text)")
        #expect(attempts.map { $0["attempt"] as? Int } == [1, 2])
        #expect(attempts[0]["reason"] as? String == "HTTP 503" && attempts[1]["reason"] == nil)
        #expect(attempts.allSatisfy { $0["stage"] as? String == "sent" && $0["destination"] as? String == "sales" })
        #expect((attempts[0]["event"] as? [String: Any])?["name"] as? String == "Order")
        #expect((attempts[0]["event"] as? [String: Any])?["key"] as? String == "[hidden]")
        #expect(receiver.events.first?.contains(#""key":"s3cret""#) == true, "the service gets it")

        let decisions = try routed.records(3)
        #expect(decisions.map { $0["outcome"] as? String } == ["routed", "filtered", "routed"], "\(routed.text)")
        #expect(decisions[1]["reason"] as? String == "no_route")
        #expect((decisions[1]["event"] as? [String: Any])?["event"] as? String == "View", "as it was sent")

        // A filter is about the event as it was sent.
        let chosen = try filtered.records(2)
        #expect(chosen.allSatisfy { $0["position"] as? Int == 0 }, "\(filtered.text)")
        for tap in [sent, routed, filtered] {
            #expect(!tap.text.contains("s3cret"), "\(tap.text)")
            tap.signal(SIGTERM)
            #expect(try tap.end() == 0)
        }
        #expect(daemon.terminate() == 0)
    }

    @Test func `refusals are shown with their reason, from sources and from destinations`() throws {
        let receiver = try HTTPReceiver([.status(400, body: "no such field")])
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations: { collector: { http: "\(receiver.url)", format: single } }
                """)
        try daemon.start()
        let all = try TapProcess(daemon, "--refused")
        let ofDestination = try TapProcess(daemon, "--refused", "--destination", "collector", "--where", "true")
        let client = try EventClient(daemon)
        try client.send("nonsense\n" + #"{"type":"track","event":"E","messageId":"m-x"}"# + "\n" + event(7) + "\n")
        #expect(try client.acknowledgement(of: 3).lines == 3)
        let records = try all.records(3)
        let ofSource = records.filter { $0["source"] as? String == "apps" }
        #expect(ofSource.map { $0["reason"] as? String } == ["invalid_json", "no_user_anon_id"], "\(all.text)")
        #expect((ofSource[0]["detail"] as? String)?.isEmpty == false && ofSource[1]["messageId"] as? String == "m-x")
        for letter in [records.first { $0["destination"] != nil }, try ofDestination.records(1).first] {
            #expect(letter?["stage"] as? String == "refused" && letter?["reason"] as? String == "HTTP 400")
            #expect(letter?["answer"] as? String == "no such field" && letter?["attempts"] as? Int == 1)
            #expect((letter?["event"] as? [String: Any])?["messageId"] as? String == "m-0000007")
        }
        #expect(ofDestination.records.count == 1)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a replay is shown as sent again`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<3))
        #expect(try client.acknowledgement(of: 3).lines == 3)
        try daemon.settle()
        let tap = try TapProcess(daemon, "--destination", "archive", "--where", #"messageId != "m-0000001""#)
        #expect(try daemon.penstock("replay", "archive", "--from", "1h", "--wait").status == 0)
        let records = try tap.records(2)
        #expect(records.map { $0["position"] as? Int } == [0, 2], "\(tap.text)")
        #expect(records.allSatisfy { $0["again"] as? Bool == true && $0["outcome"] as? String == "delivered" })
        #expect(daemon.terminate() == 0)
    }
}
