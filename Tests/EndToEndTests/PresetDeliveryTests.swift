import Control
import Foundation
import TestSupport
import Testing

/// The real daemon with a preset, and a service that behaves as its documentation describes.
@Suite struct PresetDeliveryTests {
    func daemon(_ preset: String, _ address: String, _ keys: String) throws -> TestDaemon {
        let daemon = try TestDaemon(
            configuration: """
                secrets: { directory: DIRECTORY/secrets }
                routes: [ { to: [product] } ]
                destinations:
                  product: { preset: \(preset), url: "\(address)", compression: none, retry: { initial: 10ms, max: 200ms }, \(keys) }
                """)
        try FileManager.default.createDirectory(atPath: daemon.path("secrets"), withIntermediateDirectories: false)
        try "s3/cret".write(toFile: daemon.path("secrets/key"), atomically: true, encoding: .utf8)
        return daemon
    }

    /// Sends the events and waits until all are settled. Returns the ids and reasons of the dead letters.
    func run(_ daemon: TestDaemon, _ events: [String]) throws -> [String] {
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events.map { $0 + "\n" }.joined())
        #expect(try client.acknowledgement(of: events.count).lines == events.count)
        try daemon.settle()
        let listed = try daemon.penstock("dead-letters", "list", "product", "--json")
        #expect(listed.status == 0, "\(listed.errors)")
        return listed.output.split(separator: "\n").compactMap { jsonObject(String($0)) }.map {
            "\($0["messageId"] ?? "?"): \($0["reason"] ?? "?")"
        }
    }

    func track(_ name: String, _ id: String, user: String = "ada", _ more: String = "") -> String {
        #"{"type":"track","event":"\#(name)","messageId":"\#(id)","userId":"\#(user)"\#(more)}"#
    }

    @Test func `Mixpanel accepts events and profiles, and only the rejected ones become dead letters`() throws {
        let service = try MixpanelService(token: "s3/cret")
        let daemon = try daemon("mixpanel", service.address, "token: !secret key, in_flight: 1")
        let letters = try run(
            daemon,
            [
                track("A", "m1"), track("Refused", "m2"), track("B", "m3"), track("C", "m4", user: "anonymous"),
                #"{"type":"page","name":"Home","messageId":"m5","userId":"ada"}"#,
                #"{"type":"screen","name":"Cart","messageId":"m6","userId":"ada"}"#,
                #"{"type":"identify","messageId":"m7","userId":"ada","traits":{"plan":"pro"}}"#,
                #"{"type":"identify","messageId":"m8","userId":"bob","traits":{"broken":1}}"#,
                #"{"type":"group","messageId":"m9","userId":"ada","groupId":"g","traits":{"name":"G"}}"#,
                #"{"type":"alias","messageId":"m10","userId":"ada","previousId":"a-1"}"#,
            ])
        #expect(
            service.taken.sorted() == [
                "$merge", "A", "B", "Page Viewed", "Screen Viewed", "profile ada", "profile ada in g", "profile g",
            ])
        #expect(
            letters.sorted() == [
                "m2: HTTP 400", "m4: not sent: properties.distinct_id is a value that the service rejects",
                "m8: HTTP 200",
            ])
        #expect(daemon.terminate() == 0)
    }

    @Test func `Google Analytics gets no event that it would discard silently`() throws {
        let service = try GoogleAnalyticsService()
        let daemon = try daemon("ga4", service.address, "measurement_id: G-ABC123, api_secret: !secret key")
        let long = String(repeating: "x", count: 101)
        let letters = try run(
            daemon,
            [
                track("Order Completed", "m1"), track("Order Completed", "m2", user: "bob"),
                track("Session Start", "m3"),
                track("A", "m4", #","properties":{"note":"\#(long)"}"#),
                track("B", "m5", #","timestamp":"2020-01-01T00:00:00Z""#), track("C", "m6"),
            ])
        #expect(service.taken.sorted() == ["ada a", "ada c", "ada purchase", "bob purchase"])
        #expect(
            letters.sorted() == [
                "m3: not sent: name is a value that the service rejects",
                "m5: not sent: timestamp_micros is more than 72 h ago",
            ])
        #expect(try daemon.status().destinations["product"]?.mended == 1, "the value that is too long is cut")
        #expect(
            service.server.requests.allSatisfy {
                $0.line.contains("/mp/collect?measurement_id=G-ABC123&api_secret=s3%2Fcret ")
            })
        #expect(daemon.terminate() == 0)
    }

    @Test func `Amplitude rejects a request because of one event and gets the others once`() throws {
        let service = try AmplitudeService(key: "s3/cret")
        let daemon = try daemon("amplitude", service.address, "api_key: !secret key, in_flight: 1")
        let letters = try run(
            daemon,
            [
                track("A", "m1", user: "user-1"), track("Refused", "m2", user: "user-1"),
                track("B", "m3", user: "eager"),
                track("C", "m4", user: "user-2"), track("D", "m5", user: "u"),
            ])
        #expect(service.taken.sorted() == ["eager B", "user-1 A", "user-2 C"])
        #expect(letters.sorted() == ["m2: HTTP 400", "m5: not sent: user_id has 1 character; at least 5 are required"])
        #expect(daemon.terminate() == 0)
    }

    @Test func `a rejected key holds the events`() throws {
        let service = try AmplitudeService(key: "another")
        let daemon = try daemon("amplitude", service.address, "api_key: !secret key")
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(track("A", "m1", user: "user-1") + "\n")
        try eventually("the destination is held") { try daemon.status().destinations["product"]?.state == .held }
        #expect(try daemon.status().destinations["product"]?.deadLettered == 0)
        #expect(daemon.terminate() == 0)
    }

    @Test func `presets can be listed and shown`() throws {
        let daemon = try daemon("mixpanel", "http://127.0.0.1:1", "token: !secret key")
        try FileManager.default.createDirectory(atPath: daemon.path("presets"), withIntermediateDirectories: false)
        let own = "# mine\ntitle: Mine\ndescription: my own\ndestination: { http: https://mine.example/ }\n"
        for name in ["mine", "mixpanel"] {
            try own.write(toFile: daemon.path("presets/\(name).yaml"), atomically: true, encoding: .utf8)
        }
        let listed = try Program.penstock(["presets", "list", "--json", "--config", daemon.configurationFile])
        #expect(listed.status == 0, "\(listed.errors)")
        let presets = try #require(try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [[String: Any]])
        let origins = Dictionary(
            presets.map { ("\($0["name"] ?? "")", "\($0["from"] ?? "")") }, uniquingKeysWith: { first, _ in first })
        #expect(
            origins["mine"] == "presets/" && origins["mixpanel"] == "presets/, in place of Penstock's"
                && origins["ga4"] == "penstock")
        let shown = try Program.penstock(["presets", "show", "mine", "--config", daemon.configurationFile])
        #expect(shown.status == 0 && shown.output == own, "show prints the comments, too")
        let none = try Program.penstock(["presets", "show", "yours", "--config", daemon.configurationFile])
        #expect(none.status == 1 && none.errors.contains("there is no preset \"yours\""), "\(none.errors)")
        let nearly = try Program.penstock(["presets", "show", "mixpnel", "--config", daemon.configurationFile])
        #expect(nearly.status == 1 && nearly.errors.contains("did you mean \"mixpanel\"?"), "\(nearly.errors)")
        try "title: [".write(toFile: daemon.path("presets/bad.yaml"), atomically: true, encoding: .utf8)
        let broken = try Program.penstock(["presets", "list", "--config", daemon.configurationFile])
        #expect(
            broken.status == 1 && broken.errors.contains("bad.yaml:1:") && broken.output.contains("Mine"),
            "\(broken.errors)")
    }
}
