import Control
import Platform
import TestSupport
import Testing

/// The real daemon and an HTTP service with realistic faults.
@Suite struct HTTPDeliveryTests {
    @Test func `every event arrives at a service that first fails in every way`() throws {
        let failures: [ScriptedServer.Reply] = [
            .hang, .reset, .resetInMidResponse(), .status(429, headers: ["Retry-After: 1"]), .status(500), .status(503),
        ]
        let receiver = try HTTPReceiver(failures + [.status(200)])
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations:
                  collector:
                    http: "\(receiver.url)"
                    format: ndjson
                    timeout: 8s
                    in_flight: 1
                    batch: { events: 7, wait: 0s }
                    retry: { initial: 10ms, max: 5s }
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<50))
        #expect(try client.acknowledgement(of: 50).lines == 50)
        try daemon.settle()

        // Only events with a 200 response count as delivered. The request that hung may have arrived, too.
        let delivered = receiver.events(from: failures.count).compactMap(number)
        #expect(Set(delivered) == Set(0..<50))
        #expect(delivered == delivered.sorted(), "in the journal's order")
        let requests = receiver.server.requests
        #expect(requests[4].time - requests[3].time >= .seconds(1), "Retry-After is obeyed")
        let status = try #require(try daemon.status().destinations["collector"])
        #expect(status.state == .up)
        #expect(status.delivered == 50)
        #expect(status.deadLettered == 0)
        #expect(status.retries >= UInt64(failures.count))
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: [429, 500, 503])
    func `status shows retrying with the reason, and later up`(response: Int) throws {
        let receiver = try HTTPReceiver([.status(response)])
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations:
                  collector: { http: "\(receiver.url)", format: ndjson, retry: { initial: 10ms, max: 200ms } }
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(event(1) + "\n")
        #expect(try client.acknowledgement(of: 1).lines == 1)
        try eventually("the destination is retrying") {
            let report = try daemon.status()
            let status = report.destinations["collector"]
            return status?.state == .retrying && status?.lastError?.contains("HTTP \(response)") == true
                && report.health == .degraded && status?.lagEvents == 1
        }
        let shown = try daemon.penstock("status")
        #expect(shown.status == 1, "status 1 means degraded")
        #expect(shown.output.contains("collector retrying: HTTP \(response)"), "\(shown.output)")

        receiver.server.change(to: [.status(200)])
        try daemon.settle()
        try eventually("the destination is up") { try daemon.status().destinations["collector"]?.state == .up }
        #expect(receiver.events.last.flatMap(number) == 1)
        #expect(try daemon.penstock("status").status == 0)
        #expect(daemon.terminate() == 0)
    }

    @Test func `an event that a service rejects is kept with the reason`() throws {
        let receiver = try HTTPReceiver([.status(200), .status(400, body: "no such\tfield: \"colour\""), .status(200)])
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [collector, rows] } ]
                destinations:
                  collector: { http: "\(receiver.url)", format: single, in_flight: 1 }
                  rows: { plugin: sqlite, settings: { path: DIRECTORY/rows.db } }
                """)
        try daemon.start()
        let none = try daemon.penstock("dead-letters", "list", "collector", "--json")
        #expect(none.status == 0 && none.output == "")

        let client = try EventClient(daemon)
        try client.send(events(1..<4))
        #expect(try client.acknowledgement(of: 3).lines == 3)
        try daemon.settle()
        let position = try daemon.sqlite("rows.db", "SELECT position FROM events WHERE message_id = 'm-0000002'").first

        let listed = try daemon.penstock("dead-letters", "list", "collector", "--json")
        #expect(listed.status == 0, "\(listed.errors)")
        let lines = listed.output.split(separator: "\n")
        #expect(lines.count == 1)
        let letter = try #require(lines.first.flatMap { jsonObject(String($0)) })
        #expect((letter["position"] as? Int).map(String.init) == position)
        #expect(letter["messageId"] as? String == "m-0000002")
        #expect(letter["reason"] as? String == "HTTP 400")
        #expect((letter["answer"] as? String)?.contains("colour") == true)
        #expect(letter["attempts"] as? Int == 1)
        #expect((letter["time"] as? String)?.hasSuffix("Z") == true)
        let shown = try daemon.penstock("dead-letters", "list", "collector")
        #expect(shown.status == 0)
        #expect(shown.output.contains("m-0000002") && shown.output.contains("HTTP 400"), "\(shown.output)")

        let status = try daemon.status()
        #expect(status.destinations["collector"]?.deadLettered == 1)
        #expect(status.destinations["collector"]?.delivered == 2)
        #expect(status.destinations["rows"]?.deadLettered == 0)

        // Dead letters outlive the daemon.
        daemon.kill9()
        try daemon.start()
        #expect(try daemon.penstock("dead-letters", "list", "collector", "--json").output == listed.output)
        let unknown = try daemon.penstock("dead-letters", "list", "colector")
        #expect(unknown.status != 0)
        #expect(unknown.errors.contains("there are: collector, rows"), "\(unknown.errors)")
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: [401, 403])
    func `a rejected credential holds the destination and keeps its events`(response: Int) throws {
        let receiver = try HTTPReceiver([.status(response, body: "who are you")])
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations:
                  collector:
                    { http: "\(receiver.url)", format: ndjson, in_flight: 1, retry: { initial: 10ms, max: 100ms } }
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<10))
        #expect(try client.acknowledgement(of: 10).lines == 10)
        try eventually("the destination is held") { try daemon.status().destinations["collector"]?.state == .held }
        let status = try #require(try daemon.status().destinations["collector"])
        #expect(status.lastError?.contains("HTTP \(response)") == true)
        #expect(status.delivered == 0)
        #expect(status.deadLettered == 0)
        #expect(status.lagEvents == 10)

        receiver.server.change(to: [.status(200)])
        let before = receiver.server.requests.count
        try daemon.settle()
        #expect(
            Set(receiver.events(from: before).compactMap(number)).union(receiver.events.suffix(10).compactMap(number))
                == Set(0..<10))
        #expect(try daemon.status().destinations["collector"]?.delivered == 10)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a dead destination does not affect the others`() throws {
        // No server listens at the first address. The second one never responds.
        let gone = try HTTPReceiver()
        gone.server.stop()
        let hanging = try HTTPReceiver([.hang])
        let healthy = try HTTPReceiver()
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [gone, hanging, healthy, archive] } ]
                destinations:
                  gone: { http: "\(gone.url)", format: ndjson, retry: { initial: 10ms, max: 50ms } }
                  hanging: { http: "\(hanging.url)", format: ndjson, timeout: 1m }
                  healthy: { http: "\(healthy.url)", format: ndjson, batch: { wait: 0s } }
                  archive: { file: archive.ndjson }
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<5000))
        #expect(try client.acknowledgement(of: 5000).lines == 5000)
        try daemon.settle(["healthy", "archive"])
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0..<5000))
        #expect(Set(healthy.events.compactMap(number)) == Set(0..<5000))

        let status = try daemon.status()
        #expect(status.destinations["healthy"]?.state == .up)
        #expect(status.destinations["archive"]?.state == .up)
        for name in ["gone", "hanging"] {
            #expect(status.destinations[name]?.delivered == 0)
            #expect(status.destinations[name]?.deadLettered == 0)
            #expect(status.destinations[name]?.lagEvents == 5000)
        }
        try eventually("the destination is retrying") { try daemon.status().destinations["gone"]?.state == .retrying }
        // The hanging destination does not keep the daemon from stopping within its drain timeout.
        #expect(daemon.terminate() == 0)
    }
}
