import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Synchronization
import Testing

/// The postgres plugin as it ships, loaded by the host, against a real server. Each test has a database of its own.
@Suite struct PostgresSinkTests {
    let test: PostgresTest

    init() throws { test = try PostgresTest(on: PostgresServer.sharedServer()) }

    @Test func `an event becomes a row with columns for its common fields and JSON for the rest`() throws {
        let stage = try test.open()
        let json =
            #"{"type":"track","event":"Müll \"A\"\n","userId":"u\\1","anonymousId":"a\t1","messageId":"m-\u0031","timestamp":"2023-11-14T01:00:00+01:00","properties":{"total":12.50,"big":12345678901234567890},"traits":null,"context":{"ip":"10.0.0.1"},"integrations":{"All":false},"x":["}"]}"#
        let batch = stage.offer(PluginStage.batch([(41, .track, json)], receivedAt: 1_700_000_000_007_999_999))
        #expect(stage.outcomes(batch, count: 1) == [.delivered])
        #expect(
            try test.rows(
                """
                SELECT position, part, received_at, message_id, kind, event, user_id, anonymous_id, timestamp,
                properties, traits, context, rest FROM events
                """) == [
                    [
                        "41", "0", "2023-11-14 22:13:20.007999+00", "m-1", "track", "Müll \"A\"\n", #"u\1"#, "a\t1",
                        "2023-11-14 00:00:00+00", #"{"big": 12345678901234567890, "total": 12.50}"#, "-",
                        #"{"ip": "10.0.0.1"}"#, #"{"x": ["}"], "integrations": {"All": false}}"#,
                    ]
                ])
    }

    @Test func `a missing field is NULL, and a missing timestamp is the receive time`() throws {
        let stage = try test.open()
        let batch = stage.offer(PluginStage.batch([(1, .alias, #"{"who":"x"}"#), (2, .page, "{}")]))
        #expect(stage.outcomes(batch, count: 2) == [.delivered, .delivered])
        #expect(
            try test.rows(
                "SELECT message_id, kind, event, timestamp = received_at, properties, rest FROM events ORDER BY position"
            ) == [["-", "alias", "-", "t", "-", #"{"who": "x"}"#], ["-", "page", "-", "t", "-", "-"]])
    }

    @Test func `the position and the rows are in the database together`() throws {
        let stage = try test.open()
        _ = stage.offer([3, 4, 9])
        #expect(
            try test.rows("SELECT destination, table_name, journal, position FROM penstock_position") == [
                ["warehouse", "events", "journal-1", "9"]
            ])
        #expect(try test.rows("SELECT count(*) FROM events") == [["3"]])
        #expect(try stage.destination.checkpoint() == [9, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `no event is stored twice after a restart`() throws {
        let first = try test.open()
        _ = first.offer([0, 1, 2])
        first.destination.close()
        // The cursor was never saved, so all events are offered again, and one more.
        let second = try test.open()
        let outcomes = second.outcomes(second.offer([0, 1, 2, 3]), count: 4)
        #expect(outcomes == [.delivered, .delivered, .delivered, .delivered])
        #expect(second.destination.metrics.counters["postgres_events"] == 1)
        #expect(try test.rows("SELECT position FROM events") == [["0"], ["1"], ["2"], ["3"]])
    }

    @Test func `a replay adds the missing rows and does not move the position back`() throws {
        let stage = try test.open()
        _ = stage.offer([5, 6, 20])
        #expect(stage.outcomes(stage.offer([3, 4, 5, 6, 7]), count: 5)?.allSatisfy { $0 == .delivered } == true)
        #expect(
            try test.rows("SELECT position FROM events ORDER BY 1") == ["3", "4", "5", "6", "7", "20"].map { [$0] })
        #expect(try test.rows("SELECT position FROM penstock_position") == [["20"]])
        #expect(stage.destination.metrics.counters["postgres_events"] == 6)
    }

    @Test func `several events of one position become separate rows`() throws {
        let stage = try test.open()
        var batch = PluginStage.batch([5, 5, 6].map { ($0, .track, PluginStage.event($0)) })
        batch.events[1].part = 1
        #expect(stage.outcomes(stage.offer(batch), count: 3) == [.delivered, .delivered, .delivered])
        _ = stage.offer(batch)
        #expect(
            try test.rows("SELECT position, part FROM events ORDER BY 1, 2") == [["5", "0"], ["5", "1"], ["6", "0"]])
    }

    @Test func `a mapping may make any JSON value`() throws {
        let stage = try test.open()
        let values = [#"[1,{"userId":"u"}]"#, #""te\"xt""#, "12", "true", "null", "{}", #"{"userId":{"a":1}}"#]
        let batch = stage.offer(
            PluginStage.batch(values.enumerated().map { (UInt64($0.offset), .track, $0.element) }))
        #expect(stage.outcomes(batch, count: 7)?.allSatisfy { $0 == .delivered } == true)
        #expect(
            try test.rows("SELECT user_id, rest FROM events ORDER BY position") == [
                ["-", #"[1, {"userId": "u"}]"#], ["-", #""te\"xt""#], ["-", "12"], ["-", "true"], ["-", "null"],
                ["-", "-"], [#"{"a":1}"#, "-"],
            ])
    }

    @Test func `very large events are stored`() throws {
        let stage = try test.open()
        let text = String(repeating: #"ü\n\\"#, count: 1_000_000)
        let json = #"{"type":"track","event":"x","properties":{"text":"\#(text)"}}"#
        let batch = stage.offer(PluginStage.batch([(1, .track, json), (2, .track, PluginStage.event(2))]))
        #expect(stage.outcomes(batch, count: 2) == [.delivered, .delivered])
        #expect(
            try test.rows("SELECT length(properties ->> 'text') FROM events WHERE position = 1") == [["3000000"]])
        // Again, by the way of existing rows.
        #expect(stage.outcomes(stage.offer(PluginStage.batch([(1, .track, json)])), count: 1) == [.delivered])
    }

    @Test func `a large batch is one transaction`() throws {
        let stage = try test.open()
        let outcomes = try #require(stage.outcomes(stage.offer(Array(0..<5000)), count: 5000))
        #expect(outcomes.allSatisfy { $0 == .delivered })
        #expect(
            try test.rows("SELECT count(*), max(position), count(DISTINCT xmin::text) FROM events") == [
                ["5000", "4999", "1"]
            ])
    }

    @Test func `a table may be in any schema`() throws {
        _ = try test.rows("CREATE SCHEMA events")
        let stage = try test.open(#","table":"events.events""#)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(try test.rows("SELECT position FROM events.events") == [["1"]])
        #expect(try test.rows("SELECT position FROM events.penstock_position") == [["1"]])
        let other = try PluginStage(
            "postgres", in: test.directory, settings: test.settings(#","table":"missing.events""#))
        let error = #expect(throws: PluginError.self) { try other.destination.open(from: Cursor(position: 0)) }
        #expect(
            error?.description.contains(#"schema "missing" does not exist"#) == true, "\(String(describing: error))")
    }

    @Test func `destinations that start at the same time create each table once`() async throws {
        let test = test
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<12 {
                group.addTask {
                    let table = number < 6 ? "events" : "events_\(number)"
                    let stage = try test.open(#","table":"\#(table)""#)
                    return stage.outcomes(stage.offer([1, 2]), count: 2) == [.delivered, .delivered]
                }
            }
            for try await isDelivered in group { #expect(isDelivered) }
        }
        #expect(try test.rows("SELECT count(*), count(DISTINCT position) FROM events") == [["2", "2"]])
        #expect(try test.rows("SELECT count(*) FROM penstock_position") == [["7"]])
    }

    @Test func `a role needs no right to create tables that exist`() throws {
        try test.open().destination.close()
        let role = "writer_\(test.database)"
        _ = try test.rows(
            """
            CREATE ROLE \(role) LOGIN; REVOKE ALL ON SCHEMA public FROM public; GRANT USAGE ON SCHEMA public TO \(role);
            REVOKE ALL ON DATABASE \(test.database) FROM public;
            GRANT INSERT, SELECT ON events TO \(role); GRANT SELECT, INSERT, UPDATE ON penstock_position TO \(role)
            """)
        let dsn = test.dsn.replacingOccurrences(of: "user=postgres", with: "user=\(role)")
        let stage = try PluginStage(
            "postgres", in: test.directory, settings: test.settings(#","table":"public.events""#, dsn: dsn))
        _ = try test.rows("GRANT CONNECT ON DATABASE \(test.database) TO \(role)")
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(stage.outcomes(stage.offer([1, 2]), count: 2) == [.delivered, .delivered])
    }

    @Test func `a table of another journal or destination is refused`() throws {
        try test.open().destination.close()
        let journal = #expect(throws: PluginError.self) { try test.open(journal: "journal-2") }
        #expect(journal?.description.hasSuffix("holds the events of another journal: set another table") == true)
        let name = try PluginStage("postgres", in: test.directory, settings: test.settings()) {
            $0.destination = "archive"
        }
        let error = #expect(throws: PluginError.self) { try name.destination.open(from: Cursor(position: 0)) }
        #expect(
            error?.description.hasSuffix("holds the events of destination warehouse: set another table") == true)
        let other = try test.open(#","table":"events2""#, journal: "journal-2")
        #expect(other.outcomes(other.offer([1]), count: 1) == [.delivered])
    }

    @Test func `a table without one of the columns is an error with the statement that adds it`() throws {
        _ = try test.rows("CREATE TABLE events (position bigint, part integer, received_at timestamptz, total text)")
        let settings = test.settings(
            #","columns":[{"name":"total","path":"total"},{"name":"size","path":"size","type":"bigint"}]"#)
        func failure() throws -> String? {
            let stage = try PluginStage("postgres", in: test.directory, settings: settings)
            return #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }?
                .description
        }
        #expect(
            try failure()?.hasSuffix(
                """
                the table events has no column size: set another table, or add the column: ALTER TABLE events ADD COLUMN \
                size bigint
                """) == true)
        _ = try test.rows("ALTER TABLE events ADD COLUMN size bigint")
        #expect(try failure()?.contains("there is no unique or exclusion constraint") == true)
        _ = try test.rows("ALTER TABLE events ADD PRIMARY KEY (position, part)")
        let stage = try PluginStage("postgres", in: test.directory, settings: settings)
        _ = try stage.destination.open(from: Cursor(position: 0))
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
    }

    @Test(arguments: [
        (
            #"{"dsn":"dbname=x","table":"a; drop"}"#,
            "settings.table: TABLE or SCHEMA.TABLE; each name must be lower-case"
        ),
        (#"{"dsn":"dbname=x","table":"a.b.c"}"#, "settings.table: TABLE or SCHEMA.TABLE"),
        (#"{"dsn":"dbname=x","table":"Events"}"#, "settings.table: TABLE or SCHEMA.TABLE"),
        (#"{"dsn":"dbname=x","table":"penstock_position"}"#, "settings.table: names that begin with penstock_"),
        (#"{"dsn":"dbname=x","timeout":"0s"}"#, "settings.timeout: is 0s, but must be between 1s and 1h"),
        (#"{"dsn":"dbname=x","connect_timeout":"1s"}"#, "settings.connect_timeout: is 1s, but must be"),
        (#"{"dsn":"dbname=x","columns":[]}"#, "settings.columns: must have 1 to 250 columns"),
        (#"{"dsn":"dbname=x","columns":[{"name":"a-b","path":"a"}]}"#, "settings.columns[0].name: must be lower-case"),
        (#"{"dsn":"dbname=x","columns":[{"name":"part","path":"a"}]}"#, "settings.columns[0].name: every table has"),
        (
            #"{"dsn":"dbname=x","columns":[{"name":"a","path":"a"},{"name":"a","path":"b"}]}"#,
            "settings.columns[1].name: a is"
        ),
        (#"{"dsn":"dbname=x","columns":[{"name":"a","path":"a..b"}]}"#, "settings.columns[0].path: must be names"),
        (
            #"{"dsn":"dbname=x","columns":[{"name":"a","path":"b","type":"money"}]}"#,
            "settings.columns[0].type: must be one of"
        ),
        (#"{"dsn":"nonsense hunter2"}"#, "settings.dsn: is not a URI or connection string of libpq: write it like"),
        (#"{"dsn":"host=x password=hunter2 hunter3"}"#, "settings.dsn: is not a URI or connection string of libpq"),
        (#"{}"#, "settings.dsn: is required"),
    ])
    func `a bad setting is an error that names it`(settings: String, words: String) throws {
        let stage = try PluginStage("postgres", in: test.directory, settings: settings)
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
        #expect(error?.description.contains("hunter") == false)
    }

    @Test(arguments: [
        ("secured", "hunter2", "test", "password authentication failed for user \"secured\""),
        ("postgres", "hunter2", "nowhere", "database \"nowhere\" does not exist"),
        ("nobody_such", "hunter2", "test", "role \"nobody_such\" does not exist"),
    ])
    func `a server that refuses the connection is an error without the password`(
        user: String, password: String, database: String, words: String
    ) throws {
        let server = try PostgresServer.sharedServer()
        let database = database == "test" ? test.database : database
        _ = try test.rows(
            """
            DO $$ BEGIN CREATE ROLE secured LOGIN PASSWORD 'correct'; EXCEPTION WHEN OTHERS THEN NULL; END $$
            """)
        let dsn = "postgresql://\(user):\(password)@127.0.0.1:\(server.port)/\(database)"
        let stage = try PluginStage("postgres", in: test.directory, settings: test.settings(dsn: dsn))
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
        #expect(error?.description.contains(password) == false)
        #expect(stage.log.lines.withLock { $0.allSatisfy { !$0.contains(password) } })
    }
}
