import Control
import Foundation
import Platform
import Testing

/// The complete path of an event through the real daemon and real sockets.
@Suite struct PipelineTests {
    @Test func `every destination gets the events of its routes once`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try TestDaemon(
            configuration: """
                routes:
                  - { name: all, to: [archive] }
                  - name: sold
                    where: event = "Order Completed" and properties.total > 10
                    transforms: [ { set: { context.routed: sold } } ]
                    to: [collector, rows]
                destinations:
                  archive: { file: archive.ndjson }
                  collector: { http: "\(receiver.url)", format: ndjson, batch: { wait: 0s } }
                  rows: { plugin: sqlite, settings: { path: DIRECTORY/rows.db }, batch: { wait: 0s } }
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(event(1) + "\n")
        try client.send(event(2, name: "Order Completed", fields: #","properties":{"total":9}"#) + "\n")
        try client.send(event(3, name: "Order Completed", fields: #","properties":{"total":12.5}"#) + "\n")
        try client.send(
            event(4, name: "Order Completed", fields: #","properties":{"total":99},"integrations":{"collector":false}"#)
                + "\n")
        #expect(try client.acknowledgement(of: 4).lines == 4)
        try daemon.settle()

        #expect(daemon.lines("archive.ndjson").compactMap(number) == [1, 2, 3, 4])
        #expect(receiver.events.compactMap(number) == [3])
        #expect(receiver.events.first?.contains(#""routed":"sold""#) == true)
        #expect(
            try daemon.sqlite("rows.db", "SELECT message_id FROM events ORDER BY position") == [
                "m-0000003", "m-0000004",
            ])

        let status = try daemon.status()
        #expect(status.health == .healthy)
        #expect(status.sources["apps"]?.accepted == 4)
        #expect(status.destinations["archive"]?.delivered == 4)
        #expect(status.destinations["collector"]?.filtered == 3)
        #expect(daemon.terminate() == 0)
    }

    @Test func `acknowledged events survive kill -9, and a file holds them exactly once`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive, compressed, collector, rows] } ]
                destinations:
                  archive: { file: archive.ndjson }
                  compressed: { file: archive.ndjson.gz, batch: { wait: 20ms } }
                  collector: { http: "\(receiver.url)", format: ndjson, batch: { events: 100, wait: 5ms } }
                  rows: { plugin: sqlite, settings: { path: DIRECTORY/rows.db }, batch: { events: 100, wait: 5ms } }
                """)
        try daemon.start()
        var acknowledged = 0
        // Three runs, each killed within a stream. The client resumes after the last acknowledged event, as clients do.
        for _ in 0..<3 {
            let client = try EventClient(daemon)
            let first = acknowledged
            let text = (first..<first + 2000).map { event($0) + "\n" }.joined()
            let half = text.utf8.count / 2
            try client.send(Array(text.utf8.prefix(half)))
            let (lines, refusals) = try client.acknowledgement(of: 500)
            #expect(refusals == [])
            #expect(lines >= 500)
            try client.send(Array(text.utf8.dropFirst(half)))
            daemon.kill9()
            let rest = (try? client.acknowledgement(of: 2000).lines) ?? 0
            acknowledged = first + max(lines, rest)
            try daemon.start()
        }
        try daemon.settle()
        #expect(daemon.terminate() == 0)

        let wanted = Set(0..<acknowledged)
        let journaled = daemon.lines("archive.ndjson").compactMap(number)
        #expect(wanted.isSubset(of: Set(journaled)), "an acknowledged event is missing from the file")
        // Events that were not acknowledged may be in the journal already when the client sends them again. The journal
        // and the destinations then hold them twice. The file holds each journal entry once: it has as many lines as
        // there are rows, which are unique by position.
        let rows = try daemon.sqlite("rows.db", "SELECT message_id FROM events ORDER BY position")
        #expect(journaled == rows.compactMap { Int($0.dropFirst(2)) })
        #expect(try daemon.gunzip("archive.ndjson.gz").compactMap(number) == journaled)
        #expect(wanted.isSubset(of: Set(receiver.events.compactMap(number))))
    }

    @Test func `a client that misbehaves harms only itself`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive] } ]
                destinations: { archive: { file: archive.ndjson } }
                """)
        try daemon.start()

        // One client sends half a line and disconnects.
        do {
            let client = try EventClient(daemon, acknowledgements: false)
            try client.send(event(1) + "\n" + event(2).prefix(30))
        }
        // One client never reads its answers, which are all refusals.
        let deaf = try EventClient(daemon)
        let sending = WorkerThread(name: "deaf") { try? deaf.send(String(repeating: "x\n", count: 5_000_000)) }
        defer {
            // The thread writes until the daemon has ended.
            daemon.kill9()
            sending.join()
        }
        // One client sends lines that are too large, not UTF-8 and not JSON. Its valid line is accepted.
        let client = try EventClient(daemon)
        let large = event(9, fields: #","properties":{"x":"\#(String(repeating: "y", count: 40_000))"}"#)
        try client.send(Array((large + "\n").utf8) + [0x7B, 0xFF, 0x7D, 0x0A] + Array("nonsense\n\(event(3))\n".utf8))
        let (lines, refusals) = try client.acknowledgement(of: 4)
        #expect(lines == 4)
        #expect(
            refusals.map { $0.components(separatedBy: "\"reason\":\"").last?.prefix { $0 != "\"" } } == [
                "too_large", "invalid_utf8", "invalid_json",
            ])

        try daemon.settle()
        #expect(Set(daemon.lines("archive.ndjson").compactMap(number)) == [1, 3])
        let reasons = try daemon.status().sources["apps"]?.refusedByReason ?? [:]
        #expect(reasons["too_large"] == 1)
        #expect(reasons["invalid_utf8"] == 1)
        #expect(daemon.terminate() == 0)
    }

    @Test func `events of all six kinds are delivered`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive, others] }, { where: 'type = "group"', to: [groups] } ]
                destinations:
                  archive: { file: all.ndjson }
                  others: { file: others.ndjson }
                  groups: { file: groups.ndjson }
                """)
        try daemon.start()
        let sample = try String(contentsOfFile: Repository.root + "/Tests/Demo/sample-events.ndjson", encoding: .utf8)
        let count = sample.split(separator: "\n").count
        let client = try EventClient(daemon)
        try client.send(sample)
        let (lines, refusals) = try client.acknowledgement(of: count)
        #expect(lines == count)
        #expect(refusals == [])
        try daemon.settle()
        #expect(daemon.lines("all.ndjson").count == count)
        #expect(daemon.lines("others.ndjson").count == count - 1, "one event's integrations select the archive only")
        let kinds = Set(daemon.lines("all.ndjson").compactMap { jsonObject($0)?["type"] as? String })
        #expect(kinds == ["track", "identify", "page", "screen", "group", "alias"])
        #expect(daemon.lines("groups.ndjson").count == 1)
        #expect(daemon.lines("all.ndjson").allSatisfy { $0.contains(#""messageId":""#) })
    }
}
