import Control
import Foundation
import Platform
import TestSupport
import Testing

/// A tracking plan is enforced on every way in, with the same refusals.
@Suite struct PlanOnEveryWayTests {
    private static let plan = """
        on_violation: refuse
        events:
          Order Completed:
            properties: { total: { type: number, required: true } }

        """
    private static let detail = #"properties.total: expected a number, found string"#

    private func event(_ name: String, _ total: String) -> String {
        #"{"type":"track","event":"\#(name)","userId":"u","properties":{"total":\#(total)}}"#
    }

    /// An event that the plan has, one that violates it, and one that it does not have.
    private var events: [String] {
        [event("Order Completed", "1.5"), event("Order Completed", "\"1.5\""), event("Order Shipped", "1.5")]
    }

    private func logs(_ name: String, _ total: String) -> String {
        """
        {"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"\(name)","attributes":[\
        {"key":"user.id","value":{"stringValue":"u"}},{"key":"total","value":\(total)}]}]}]}]}
        """
    }

    private func reasons(_ text: String) -> Set<String> {
        Set(["schema_violation", "unplanned", Self.detail].filter(text.contains))
    }

    @Test func `every way in refuses the same events for the same reasons`() throws {
        let daemon = try TestDaemon(
            configuration: "plan: plan.yaml\n" + TestDaemon.toArchive,
            sources: TestDaemon.httpSource("127.0.0.1:0", "datagram: events.dgram"))
        try daemon.write(secret: "write_key", TestDaemon.writeKey)
        try Self.plan.write(toFile: daemon.path("plan.yaml"), atomically: true, encoding: .utf8)
        try daemon.start()
        defer { daemon.kill9() }

        let client = try EventClient(daemon)
        try client.send(events.map { $0 + "\n" }.joined())
        let refusals = try client.acknowledgement(of: 3).refusals
        #expect(refusals.map(reasons) == [["schema_violation", Self.detail], ["unplanned"]], "\(refusals)")

        let datagrams = try DatagramSocket.connect(to: daemon.path("events.dgram"))
        for event in events {
            let bytes = Array(event.utf8)
            try eventually("the datagram is sent") {
                if case .bytes(bytes.count) = datagrams.transmit(bytes.span) { true } else { false }
            }
        }

        let url = try daemon.url()
        for isOverTCP in [true, false] {
            func post(_ path: String, _ body: String) throws -> String {
                let json = "Content-Type: application/json"
                return isOverTCP
                    ? try daemon.curl("-u", TestDaemon.writeKey + ":", url + path, "-H", json, "-d", body).output
                    : try daemon.curl("--unix-socket", daemon.events, "http://host" + path, "-H", json, "-d", body)
                        .output
            }
            let single = try events.map { try post("/v1/track", $0) }
            #expect(single.map { $0.hasSuffix("200\n") } == [true, false, false])
            #expect(single.map(reasons) == [[], ["schema_violation", Self.detail], ["unplanned"]], "\(single)")

            let batch = try post("/v1/batch", "{\"batch\":[\(events.joined(separator: ","))]}")
            #expect(reasons(batch) == ["schema_violation", "unplanned", Self.detail], "\(batch)")

            let accepted = try post("/v1/logs", logs("Order Completed", #"{"doubleValue":1.5}"#))
            #expect(!accepted.contains("rejected"), "\(accepted)")
            let violating = try post("/v1/logs", logs("Order Completed", #"{"stringValue":"1.5"}"#))
            #expect(violating.contains(Self.detail) && violating.contains("rejectedLogRecords"), "\(violating)")
            let unplanned = try post("/v1/logs", logs("Order Shipped", #"{"doubleValue":1.5}"#))
            #expect(unplanned.contains("rejectedLogRecords"), "\(unplanned)")
        }
        // Lines, datagrams, and three over each of TCP and the Unix socket.
        try daemon.settle(accepted: 8)
        try eventually("all are refused") { try daemon.status().sources["apps"]?.refused == 16 }
        #expect(try daemon.status().sources["apps"]?.refusedByReason == ["schema_violation": 8, "unplanned": 8])
        #expect(daemon.archived().allSatisfy { ($0["properties"] as? [String: Double]) == ["total": 1.5] })
    }
}
