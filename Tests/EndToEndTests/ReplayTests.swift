import Control
import Foundation
import Platform
import TestSupport
import Testing

/// `penstock replay` with the real daemon.
@Suite struct ReplayTests {
    private func send(_ numbers: Range<Int>, to daemon: TestDaemon) throws {
        let sent = try daemon.penstock("send", "--acks", input: events(numbers))
        try #require(sent.status == 0, "\(sent.errors)")
    }

    private func replay(_ daemon: TestDaemon, _ destination: String) throws -> StatusReport.Destination.Replay? {
        try daemon.status().destinations[destination]?.replay
    }

    @Test func `a replay sends the events of a range again to every kind of destination`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive, packed, collector, rows] } ]
                destinations:
                  archive: { file: archive.ndjson, transforms: [ { dedupe: messageId } ] }
                  packed: { file: archive.ndjson.zst }
                  collector: { http: "\(receiver.url)", format: ndjson, batch: { wait: 0s } }
                  rows: { plugin: sqlite, settings: { path: DIRECTORY/rows.db } }
                """)
        try daemon.start()
        try send(0..<300, to: daemon)
        try daemon.settle()
        _ = try daemon.sqlite("rows.db", "DELETE FROM events WHERE message_id >= 'm-0000100'")

        for name in ["archive", "packed", "collector", "rows"] {
            let counted = try daemon.penstock("replay", name, "--from", "1h", "--dry-run", "--json")
            #expect(counted.status == 0, "\(counted.errors)")
            #expect(counted.output.contains(#""delivered":300"#), "\(counted.output)")
            #expect(try replay(daemon, name) == nil, "nothing was sent")
            let done = try daemon.penstock("replay", name, "--from", "-24h", "--wait")
            #expect(done.status == 0, "\(done.errors)")
            #expect(done.output.contains("done: 300 delivered, 0 filtered out"), "\(done.output)")
        }
        try send(300..<310, to: daemon)
        try daemon.settle()

        let expected = Array(0..<300) + Array(0..<300) + Array(300..<310)
        let lines = daemon.lines("archive.ndjson")
        try #require(lines.compactMap(number) == expected)
        #expect(lines[300..<600].allSatisfy { $0.contains(#""penstock":{"replay":true}"#) })
        #expect(!lines[..<300].contains { $0.contains("replay") } && !lines[600...].contains { $0.contains("replay") })
        #expect(try daemon.unzstd("archive.ndjson.zst").compactMap(number) == expected)
        #expect(receiver.events.compactMap(number).sorted() == expected.sorted())
        let rows = try daemon.sqlite("rows.db", "SELECT message_id FROM events ORDER BY position")
        #expect(
            rows.compactMap { Int($0.dropFirst(2)) } == Array(0..<310),
            "the missing rows are back, and none is repeated")
        let again = try daemon.sqlite("rows.db", "SELECT count(*) FROM events WHERE event IS NOT NULL")
        #expect(again == ["310"])

        let status = try daemon.status()
        #expect(status.destinations["archive"]?.replayed == 300 && status.destinations["archive"]?.delivered == 310)
        #expect(status.destinations["archive"]?.replay?.state == .done)
        let list = try daemon.penstock("replay", "--list")
        #expect(list.output.contains("collector") && list.output.contains("100 %"), "\(list.output)")
        #expect(daemon.log.contains("is done: 300 delivered"))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a filter selects a replay's events, and the current mapping applies`() throws {
        let receiver = try HTTPReceiver()
        func configuration(_ more: String) -> String {
            """
            routes: [ { to: [collector] } ]
            destinations:
              collector: { http: "\(receiver.url)", format: ndjson, batch: { wait: 0s }\(more) }
            """
        }
        let daemon = try TestDaemon(configuration: configuration(""))
        try daemon.start()
        try send(0..<20, to: daemon)
        try daemon.settle()
        try daemon.write(
            configuration: configuration(", mapping: { id: $.messageId, again: $.context.penstock.replay }"))
        #expect(try daemon.reload().applied)
        let before = receiver.server.requests.count
        let done = try daemon.penstock(
            "replay", "collector", "--from", "1h", "--where", "match(messageId, \"*5\")", "--wait")
        #expect(
            done.status == 0 && done.output.contains("done: 2 delivered, 18 filtered out"),
            "\(done.output)\(done.errors)")
        #expect(
            receiver.events(from: before) == [#"{"id":"m-0000005","again":true}"#, #"{"id":"m-0000015","again":true}"#])
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: ["archive", "collector"])
    func `kill -9 during a replay loses nothing and keeps the order`(name: String) throws {
        let receiver = try HTTPReceiver()
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive, collector] } ]
                destinations:
                  archive: { file: archive.ndjson }
                  collector: { http: "\(receiver.url)", format: ndjson, batch: { events: 20, wait: 0s }, in_flight: 1 }
                """, journal: "{ directory: journal, cursor_interval: 50ms }")
        try daemon.start()
        try send(0..<1000, to: daemon)
        try daemon.settle()
        let (lines, requests) = (daemon.lines("archive.ndjson").count, receiver.server.requests.count)
        let accepted = try daemon.penstock("replay", name, "--from", "1h", "--rate", "400", "--json")
        #expect(accepted.status == 0, "\(accepted.errors)")
        func brought() -> [Int] {
            name == "archive"
                ? daemon.lines("archive.ndjson").dropFirst(lines).compactMap(number)
                : receiver.events(from: requests).compactMap(number)
        }
        for _ in 0..<2 {
            let before = try replay(daemon, name)?.position ?? 0
            // On a busy machine, the replay may be over before this thread looks again.
            try eventually("the replay has progressed") {
                try (replay(daemon, name)?.position ?? 0) > before + 40 || Set(brought()) == Set(0..<1000)
            }
            daemon.kill9()
            try daemon.start()
        }
        try eventually("the replay is done") {
            // A run that starts after the replay's end knows of no replay.
            let state = try replay(daemon, name)?.state
            return (state == nil || state == .done) && Set(brought()) == Set(0..<1000)
        }
        try daemon.settle()
        #expect(daemon.terminate() == 0)

        let again = brought()
        // Each run continues at, or slightly before, the place where the one before it ended.
        let goesBack = zip(again, again.dropFirst()).count { $0 >= $1 }
        #expect(goesBack <= 2, "in order, except at restarts: \(again)")
        #expect(
            daemon.lines("archive.ndjson").prefix(lines).compactMap(number) == Array(0..<1000),
            "earlier lines are unchanged")
    }

    @Test func `live events are delivered while a replay hangs`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations:
                  collector: { http: "\(receiver.url)", format: ndjson, batch: { events: 10, wait: 0s }, in_flight: 4, timeout: 60s }
                """)
        try daemon.start()
        try send(0..<100, to: daemon)
        try daemon.settle()
        let before = receiver.server.requests.count
        receiver.server.change(to: [.hang, .hang, .status(200)])
        #expect(try daemon.penstock("replay", "collector", "--from", "1h").status == 0)
        try eventually("the replay hangs") { receiver.server.requests.count == before + 2 }
        try send(100..<200, to: daemon)
        // The service has them before the daemon has its answer.
        try eventually("live events are delivered") {
            try daemon.status().destinations["collector"]?.delivered == 200
                && Set(100..<200).isSubset(of: receiver.events(from: before + 2).compactMap(number))
        }
        let status = try #require(try daemon.status().destinations["collector"])
        #expect(status.replay?.state == .running && status.replay?.delivered == 0)
        // The hanging replay is cancelled.
        #expect(try daemon.penstock("replay", "collector", "--cancel").status == 0)
        #expect(try daemon.penstock("replay", "collector", "--cancel").status == 1)
        daemon.kill9()
    }

    @Test func `a reload keeps a replay, and removing its destination ends it`() throws {
        func configuration(_ events: Int, _ names: [String]) -> String {
            "routes: [ { to: [\(names.joined(separator: ", "))] } ]\ndestinations:\n"
                + names.map { "  \($0): { file: \($0).ndjson, batch: { events: \(events) } }\n" }.joined()
        }
        let daemon = try TestDaemon(configuration: configuration(10, ["archive", "other"]))
        try daemon.start()
        try send(0..<200, to: daemon)
        try daemon.settle()
        // So slow that it is running at the reload.
        let first = try daemon.penstock("replay", "archive", "--from", "1h", "--rate", "5", "--json")
        #expect(first.status == 0, "\(first.errors)")
        let kept = try #require(try replay(daemon, "archive")?.id)
        let second = try daemon.penstock("replay", "archive", "--from", "1h")
        #expect(second.status == 1 && second.errors.contains("in progress"), "\(second.errors)")
        #expect(try daemon.penstock("replay", "other", "--from", "1h", "--rate", "1").status == 0)
        try daemon.write(configuration: configuration(11, ["archive"]))
        #expect(try daemon.reload().applied)
        #expect(daemon.log.contains("the replay to destination other was cancelled"))
        let before = daemon.lines("archive.ndjson").count
        try eventually("the replay goes on") {
            let now = try replay(daemon, "archive")
            return now?.id == kept && (now?.state == .done || daemon.lines("archive.ndjson").count > before)
        }
        // Another one does not take as long.
        _ = try daemon.penstock("replay", "archive", "--cancel")
        #expect(try daemon.penstock("replay", "archive", "--from", "1h").status == 0)
        try eventually("another replay is done") {
            let now = try replay(daemon, "archive")
            return now?.id != kept && now?.state == .done
        }
        #expect(Set(daemon.lines("archive.ndjson").dropFirst(200).compactMap(number)) == Set(0..<200))
        try daemon.write(configuration: configuration(10, ["archive", "other"]))
        #expect(try daemon.reload().applied)
        #expect(try replay(daemon, "other") == nil)
        #expect(daemon.terminate() == 0)
    }

    @Test func `an impossible replay is refused with a reason`() throws {
        let daemon = try TestDaemon(
            configuration: "routes: [ { to: [archive] } ]\ndestinations: { archive: { file: archive.ndjson } }")
        #expect(try daemon.penstock("replay", "archive", "--from", "1h").status == 2, "the daemon is not running")
        try daemon.start()
        for (arguments, text) in [
            (["archive", "--from", "1h"], "has had no events of that time"),
            (["archiv", "--from", "1h"], "there are: archive"),
            (["archive", "--from", "1h", "--where", "type ="], "--where"),
            (["archive", "--from", "2026-01-01", "--until", "2025-01-01"], "end before it begins"),
        ] {
            let refused = try Program.penstock(["replay"] + arguments + ["--control", daemon.control])
            #expect(refused.status == 1 && refused.errors.contains(text), "\(arguments): \(refused.errors)")
        }
        #expect(try Program.penstock(["replay", "archive", "--from", "yesterday"]).status != 0)
        #expect(daemon.terminate() == 0)
    }
}
