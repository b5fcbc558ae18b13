import CSQLite
import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Testing

/// The sqlite plugin as it ships, loaded by the host.
@Suite struct SQLiteSinkTests {
    let directory: PluginTestDirectory
    var path: String { "\(directory.path)/data/events.db" }

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libsqlite.so")
    }

    private func open(_ more: String = "", cursor: Cursor = Cursor(position: 0), journal: String = "journal-1") throws
        -> PluginStage
    {
        let stage = try PluginStage(
            "sqlite", in: directory, settings: #"{"path":"\#(path)"\#(more)}"#, journal: journal)
        #expect(try stage.destination.open(from: cursor) == nil)
        return stage
    }

    /// The rows that a query returns. NULL is "-".
    private func rows(_ sql: String) throws -> [[String]] {
        var handle: OpaquePointer?
        guard unsafe sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else {
            throw TestProblem(description: "open \(path)")
        }
        defer { unsafe sqlite3_close(handle) }
        var statement: OpaquePointer?
        guard unsafe sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
            throw TestProblem(description: unsafe String(cString: sqlite3_errmsg(handle)))
        }
        defer { unsafe sqlite3_finalize(statement) }
        var rows: [[String]] = []
        while unsafe sqlite3_step(statement) == SQLITE_ROW {
            let columns = unsafe sqlite3_column_count(statement)
            rows.append(
                (0..<columns).map { column in
                    guard let text = unsafe sqlite3_column_text(statement, column) else { return "-" }
                    return unsafe String(cString: text)
                })
        }
        return rows
    }

    @Test func `an event becomes a row with columns for its common fields and JSON for the rest`() throws {
        let stage = try open()
        let json =
            #"{"type":"track","event":"Müll \"A\"","userId":"u1","anonymousId":"a1","messageId":"m-\u0031","timestamp":"2023-11-14T00:00:00Z","properties":{"total":12.50,"big":12345678901234567890},"traits":null,"context":{"ip":"10.0.0.1"},"integrations":{"All":false}}"#
        let batch = stage.offer(PluginStage.batch([(41, .track, json)], receivedAt: 1_700_000_000_007_999_999))
        #expect(stage.outcomes(batch, count: 1) == [.delivered])
        #expect(
            try rows("SELECT * FROM events") == [
                [
                    "41", "m-1", "track", #"Müll "A""#, "u1", "a1", "2023-11-14T00:00:00Z", "2023-11-14T22:13:20.007Z",
                    #"{"total":12.50,"big":12345678901234567890}"#, "-", #"{"ip":"10.0.0.1"}"#,
                    #"{"integrations":{"All":false}}"#, "0",
                ]
            ])
    }

    @Test func `a text with U+0000 is stored whole`() throws {
        let stage = try open()
        let json =
            #"{"event":"a\u0000b","userId":"\u0000","anonymousId":"x\\u0000","messageId":"m\u00001","properties":{"p":"c\u0000d"}}"#
        #expect(stage.outcomes(stage.offer(PluginStage.batch([(1, .track, json)])), count: 1) == [.delivered])
        #expect(
            try rows("SELECT hex(event), hex(user_id), anonymous_id, hex(message_id), properties FROM events") == [
                ["610062", "00", #"x\u0000"#, "6D0031", #"{"p":"c\u0000d"}"#]
            ])
    }

    @Test func `a missing field is NULL, and a missing timestamp is the receive time`() throws {
        let stage = try open()
        #expect(
            stage.outcomes(stage.offer(PluginStage.batch([(1, .alias, #"{"who":"x"}"#)])), count: 1) == [.delivered])
        #expect(
            try rows("SELECT message_id, kind, event, timestamp = received_at, properties, rest FROM events") == [
                ["-", "alias", "-", "1", "-", #"{"who":"x"}"#]
            ])
    }

    @Test func `the position and the rows are in the database together`() throws {
        let stage = try open()
        _ = stage.offer([3, 4, 9])
        #expect(
            try rows("SELECT destination, table_name, journal, position FROM penstock_position") == [
                ["warehouse", "events", "journal-1", "9"]
            ])
        #expect(try rows("SELECT count(*) FROM events") == [["3"]])
        #expect(try stage.destination.checkpoint() != nil)
    }

    @Test func `no event is stored twice after a restart`() throws {
        let first = try open()
        _ = first.offer([0, 1, 2])
        first.destination.close()
        // The cursor was never saved, so all events are offered again, and one more.
        let second = try open()
        #expect(
            second.outcomes(second.offer([0, 1, 2, 3]), count: 4) == [.delivered, .delivered, .delivered, .delivered])
        #expect(second.destination.metrics.counters["sqlite_events"] == 1)
        #expect(try rows("SELECT position FROM events") == [["0"], ["1"], ["2"], ["3"]])
    }

    @Test func `an event that is offered again within a run is still one row`() throws {
        let stage = try open()
        _ = stage.offer([5, 6])
        #expect(stage.outcomes(stage.offer([5, 6, 7]), count: 3) == [.delivered, .delivered, .delivered])
        #expect(try rows("SELECT position FROM events") == [["5"], ["6"], ["7"]])
    }

    @Test func `several events of one position become separate rows`() throws {
        let stage = try open()
        var batch = PluginStage.batch([5, 5, 6].map { ($0, .track, PluginStage.event($0)) })
        batch.events[1].part = 1
        #expect(stage.outcomes(stage.offer(batch), count: 3) == [.delivered, .delivered, .delivered])
        _ = stage.offer(batch)
        #expect(try rows("SELECT position, part FROM events ORDER BY 1, 2") == [["5", "0"], ["5", "1"], ["6", "0"]])
    }

    @Test func `an event that SQLite rejects is rejected alone and holds the position back`() throws {
        let stage = try open()
        _ = stage.offer([9])
        let events: [(UInt64, EventKind, String)] = [
            (10, .track, PluginStage.event(10)), (11, .track, "{broken}"), (12, .track, PluginStage.event(12)),
        ]
        let outcomes = try #require(stage.outcomes(stage.offer(PluginStage.batch(events)), count: 3))
        #expect(outcomes == [.delivered, .rejected(reason: "malformed JSON"), .delivered])
        #expect(try rows("SELECT position FROM events") == [["9"], ["10"], ["12"]])
        #expect(try rows("SELECT position FROM penstock_position") == [["10"]])

        // When the next batch is offered, the host has dead-lettered the rejected event.
        _ = stage.offer([13])
        #expect(try rows("SELECT position FROM penstock_position") == [["13"]])
    }

    @Test func `events after a rejected one are offered again after a crash and stay one row`() throws {
        let first = try open()
        let events: [(UInt64, EventKind, String)] = [(0, .track, "{broken}"), (1, .track, PluginStage.event(1))]
        _ = first.offer(PluginStage.batch(events))
        #expect(try rows("SELECT position FROM penstock_position") == [["-"]])
        first.destination.close()
        let second = try open()
        let outcomes = second.outcomes(second.offer(PluginStage.batch(events)), count: 2)
        #expect(outcomes == [.rejected(reason: "malformed JSON"), .delivered])
        #expect(try rows("SELECT position FROM events") == [["1"]])
    }

    @Test func `an operator's own constraint rejects only the events that violate it`() throws {
        try open().destination.close()
        _ = try rows(
            "CREATE TRIGGER no_seven BEFORE INSERT ON events WHEN new.user_id = 'u7' BEGIN SELECT raise(ABORT, 'no sevens'); END"
        )
        let stage = try open()
        #expect(
            stage.outcomes(stage.offer([6, 7, 8]), count: 3) == [
                .delivered, .rejected(reason: "no sevens"), .delivered,
            ])
    }

    @Test func `a batch is retried while the database is locked`() throws {
        let stage = try open()
        var other: OpaquePointer?
        #expect(unsafe sqlite3_open(path, &other) == SQLITE_OK)
        defer { unsafe sqlite3_close(other) }
        #expect(unsafe sqlite3_exec(other, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
        let batch = stage.offer([1])
        #expect(stage.outcomes(batch, count: 1) == [.retry(reason: "\(path): database is locked")])
        #expect(unsafe sqlite3_exec(other, "ROLLBACK", nil, nil, nil) == SQLITE_OK)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
    }

    @Test func `a missing table is created again, and the batch is retried`() throws {
        let stage = try open()
        _ = stage.offer([1])
        _ = try rows("DROP TABLE events")
        #expect(stage.outcomes(stage.offer([2]), count: 1) == [.retry(reason: "\(path): no such table: events")])
        #expect(stage.deliver([2]))
        #expect(try rows("SELECT position FROM events") == [["2"]])
    }

    @Test func `a table of another journal or destination is refused`() throws {
        try open().destination.close()
        let journal = #expect(throws: PluginError.self) { try open(journal: "journal-2") }
        #expect(
            journal?.description.hasSuffix("holds the events of another journal: set another table or path") == true)
        let name = try PluginStage("sqlite", in: directory, settings: #"{"path":"\#(path)","table":"EVENTS"}"#) {
            $0.destination = "archive"
        }
        let error = #expect(throws: PluginError.self) { try name.destination.open(from: Cursor(position: 0)) }
        #expect(
            error?.description.hasSuffix("holds the events of destination warehouse: set another table or path") == true
        )
        let other = try open(#","table":"events2""#, journal: "journal-2")
        #expect(other.outcomes(other.offer([1]), count: 1) == [.delivered])
    }

    @Test(arguments: [
        (#"{"path":"/tmp/x.db","table":"a; drop"}"#, "settings.table: must be letters"),
        (#"{"path":"/tmp/x.db","table":"sqlite_master"}"#, "settings.table: must be letters"),
    ])
    func `settings that a schema cannot check are rejected at open`(settings: String, words: String) throws {
        let stage = try PluginStage("sqlite", in: directory, settings: settings)
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test func `a database that cannot be opened is named in the error`() throws {
        try directory.add("data", Data())
        let stage = try PluginStage("sqlite", in: directory, settings: #"{"path":"\#(path)"}"#)
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description == "the plugin sqlite cannot connect: \(path): unable to open database file")
    }

    @Test func `a large batch of realistic events is one transaction`() throws {
        let stage = try open(#","synchronous":"normal""#)
        let outcomes = try #require(stage.outcomes(stage.offer(Array(0..<5000)), count: 5000))
        #expect(outcomes.allSatisfy { $0 == .delivered })
        #expect(try rows("SELECT count(*), max(position) FROM events") == [["5000", "4999"]])
    }
}
