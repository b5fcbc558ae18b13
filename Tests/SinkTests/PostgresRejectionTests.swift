import Delivery
import Destinations
import Events
import Foundation
import PluginTesting
import Testing

/// Values that PostgreSQL takes, and events that it rejects.
@Suite struct PostgresRejectionTests {
    let test: PostgresTest

    init() throws { test = try PostgresTest(on: PostgresServer.sharedServer()) }

    private static let columns = #"""
        ,"columns":[{"name":"id","path":"userId"},{"name":"count","path":"p.count","type":"bigint"},
        {"name":"small","path":"p.small","type":"integer"},{"name":"total","path":"$.p.total","type":"double precision"},
        {"name":"exact","path":"p.exact","type":"numeric"},{"name":"paid","path":"p.paid","type":"boolean"},
        {"name":"at","path":"p.at","type":"timestamptz"},{"name":"day","path":"p.day","type":"date"},
        {"name":"key","path":"p.key","type":"uuid"},{"name":"first","path":"p.list.0","type":"jsonb"},
        {"name":"dotted","path":"p.a\\.b"},{"name":"event","path":"$","type":"jsonb"}]
        """#

    private func offer(_ stage: PluginStage, _ payloads: [String], from first: UInt64 = 0) -> [Outcome]? {
        let events = payloads.enumerated().map { (first + UInt64($0.offset), EventKind.track, $0.element) }
        return stage.outcomes(stage.offer(PluginStage.batch(events)), count: payloads.count)
    }

    @Test func `columns of the settings have their types and the values at their paths`() throws {
        let stage = try test.open(Self.columns)
        let json =
            #"{"userId":"ü","p":{"count":-9223372036854775808,"small":"7","total":1.5e300,"exact":0.10000000000000000000001,"paid":true,"at":"2024-02-29T12:00:00.123456+02:00","day":"2024-02-29","key":"00000000-0000-0000-0000-00000000000A","list":[{"a":null}],"a.b":"x"}}"#
        #expect(
            offer(stage, [json, "{}", #"{"userId":null,"p":{"list":[null]}}"#]) == [.delivered, .delivered, .delivered])
        #expect(
            try test.rows(
                "SELECT id, count, small, total, exact, paid, at, day, key, first, dotted FROM events WHERE position = 0"
            )
                == [
                    [
                        "ü", "-9223372036854775808", "7", "1.5e+300", "0.10000000000000000000001", "t",
                        "2024-02-29 10:00:00.123456+00", "2024-02-29", "00000000-0000-0000-0000-00000000000a",
                        #"{"a": null}"#, "x",
                    ]
                ])
        #expect(
            try test.rows(
                "SELECT num_nulls(id, count, small, total, exact, paid, at, day, key, first, dotted), event FROM events WHERE position > 0 ORDER BY position"
            )
                == [["11", "{}"], ["11", #"{"p": {"list": [null]}, "userId": null}"#]])
    }

    @Test func `a text column takes any JSON value`() throws {
        let stage = try test.open(#","columns":[{"name":"a","path":"a"}]"#)
        let values = [#""x\u00e9\/""#, "1.50", "true", "[1, 2]", #"{"b":"c"}"#, #""""#, "null"]
        #expect(offer(stage, values.map { #"{"a":\#($0)}"# })?.allSatisfy { $0 == .delivered } == true)
        #expect(
            try test.rows("SELECT a FROM events ORDER BY position")
                == ["xé/", "1.50", "true", "[1, 2]", #"{"b":"c"}"#, "", "-"].map { [$0] })
    }

    @Test(arguments: [
        ("bigint", "9223372036854775807", "9223372036854775807"), ("bigint", "12.0", "12"), ("bigint", "1.2e1", "12"),
        ("bigint", "-0", "0"), ("bigint", #""42""#, "42"), ("integer", "-2147483648", "-2147483648"),
        ("double precision", "1.7976931348623157e308", "1.7976931348623157e+308"),
        ("double precision", "5e-324", "5e-324"), ("double precision", #""NaN""#, "NaN"),
        ("numeric", "1e400", "1" + String(repeating: "0", count: 400)), ("boolean", #""yes""#, "t"),
        ("boolean", "false", "f"), ("jsonb", "1e400", "1" + String(repeating: "0", count: 400)),
        ("jsonb", #""\ud83d\ude00""#, #""😀""#), ("timestamptz", #""9999-12-31T23:59:59Z""#, "9999-12-31 23:59:59+00"),
    ])
    func `a value at the end of its type is stored`(type: String, value: String, stored: String) throws {
        let stage = try test.open(#","columns":[{"name":"a","path":"a","type":"\#(type)"}]"#)
        #expect(offer(stage, [#"{"a":\#(value)}"#]) == [.delivered])
        #expect(try test.rows("SELECT a FROM events") == [[stored]])
    }

    @Test(arguments: [
        ("bigint", "9223372036854775808", #"a: value "9223372036854775808" is out of range for type bigint"#),
        ("bigint", "12.5", #"a: invalid input syntax for type bigint: "12.5""#),
        ("bigint", #""abc""#, #"a: invalid input syntax for type bigint: "abc""#),
        ("bigint", "[1]", #"a: invalid input syntax for type bigint: "[1]""#),
        ("integer", "2147483648", #"a: value "2147483648" is out of range for type integer"#),
        ("double precision", "1e400", #"a: "1e400" is out of range for type double precision"#),
        ("double precision", "true", #"a: invalid input syntax for type double precision: "true""#),
        ("boolean", "2", #"a: invalid input syntax for type boolean: "2""#),
        (
            "timestamptz", #""tuesday-ish""#,
            #"a: invalid input syntax for type timestamp with time zone: "tuesday-ish""#
        ),
        ("timestamptz", #""2023-02-30""#, #"a: date/time field value out of range: "2023-02-30""#),
        ("uuid", #""x""#, #"a: invalid input syntax for type uuid: "x""#),
        ("jsonb", "1e200000", "a: value overflows numeric format"),
    ])
    func `a value that its type does not take rejects the event with the reason of PostgreSQL`(
        type: String, value: String, reason: String
    ) throws {
        let stage = try test.open(#","columns":[{"name":"a","path":"a","type":"\#(type)"}]"#)
        let outcomes = try #require(offer(stage, ["{}", #"{"a":\#(value)}"#, "{}"]))
        #expect(outcomes == [.delivered, .rejected(reason: reason), .delivered])
        #expect(try test.rows("SELECT position FROM events ORDER BY 1") == [["0"], ["2"]])
    }

    @Test func `a rejected event holds the position back until the next batch, and the others are stored once`() throws
    {
        let first = try test.open()
        _ = first.offer([9])
        let payloads = [PluginStage.event(10), #"{"timestamp":"soon"}"#, PluginStage.event(12)]
        let rejected = Outcome.rejected(
            reason: #"timestamp: invalid input syntax for type timestamp with time zone: "soon""#)
        #expect(offer(first, payloads, from: 10) == [.delivered, rejected, .delivered])
        #expect(try test.rows("SELECT position FROM penstock_position") == [["10"]])
        first.destination.close()
        // A crash before the dead letter was durable: the host offers the events after the position again.
        let second = try test.open()
        #expect(offer(second, payloads, from: 10) == [.delivered, rejected, .delivered])
        _ = second.offer([13])
        #expect(try test.rows("SELECT position FROM events ORDER BY 1") == [["9"], ["10"], ["12"], ["13"]])
        #expect(try test.rows("SELECT position FROM penstock_position") == [["13"]])
    }

    @Test func `many rejected events in a batch are each rejected alone`() throws {
        let stage = try test.open(#","columns":[{"name":"a","path":"a","type":"bigint"}]"#)
        let payloads = (0..<512).map { $0 % 3 == 0 ? #"{"a":"x\#($0)"}"# : #"{"a":\#($0)}"# }
        let outcomes = try #require(offer(stage, payloads))
        for (index, outcome) in outcomes.enumerated() {
            let rejected = Outcome.rejected(reason: #"a: invalid input syntax for type bigint: "x\#(index)""#)
            #expect(outcome == (index % 3 == 0 ? rejected : .delivered))
        }
        #expect(try test.rows("SELECT count(*), sum(a) FROM events") == [["341", "87211"]])
    }

    @Test(arguments: [
        #"{"event":"a\u0000b"}"#, #"{"properties":{"a":"\u0000"}}"#, #"{"other\u0000":1}"#, #"{"messageId":"\u0000"}"#,
    ])
    func `U+0000 rejects the event that contains it`(json: String) throws {
        let stage = try test.open()
        let outcomes = try #require(offer(stage, ["{}", json, #"{"event":"\\u0000"}"#]))
        #expect(outcomes[0] == .delivered && outcomes[2] == .delivered)
        guard case .rejected(let reason, _) = outcomes[1] else {
            Issue.record("\(outcomes[1])")
            return
        }
        #expect(
            reason.hasSuffix(
                "contains U+0000, which PostgreSQL cannot store; the setting null_characters: replace stores U+FFFD instead"
            ), "\(reason)")
        #expect(try test.rows("SELECT event FROM events ORDER BY position") == [["-"], [#"\u0000"#]])
    }

    @Test func `U+0000 is replaced if the settings say so, and does no harm where no column has it`() throws {
        let stage = try test.open(#","null_characters":"replace""#)
        #expect(
            offer(stage, [#"{"event":"\\\u0000\u0000\\u0000","properties":{"\u0000":"\u0000"},"messageId":"\u0000"}"#])
                == [.delivered])
        #expect(
            try test.rows("SELECT event, properties, message_id FROM events") == [
                ["\\\u{FFFD}\u{FFFD}\\u0000", "{\"\u{FFFD}\": \"\u{FFFD}\"}", "\u{FFFD}"]
            ])
        let other = try test.open(#","table":"other","columns":[{"name":"a","path":"a"}]"#)
        #expect(offer(other, [#"{"a":"x","b":"\u0000"}"#]) == [.delivered])
    }

    @Test func `JSON that is nested deeper than the server's stack is rejected`() throws {
        let stage = try test.open()
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        let outcomes = try #require(offer(stage, ["{}", #"{"properties":\#(deep)}"#, "{}"]))
        #expect(outcomes[0] == .delivered && outcomes[2] == .delivered)
        #expect(outcomes[1] == .rejected(reason: "properties: stack depth limit exceeded"))
    }

    @Test func `an operator's own constraint, index or trigger rejects only the events that violate it`() throws {
        try test.open().destination.close()
        _ = try test.rows(
            """
            ALTER TABLE events ADD CHECK (user_id <> 'u3'); CREATE UNIQUE INDEX ON events (message_id);
            CREATE TABLE people (id text PRIMARY KEY); INSERT INTO people VALUES ('u1'), ('u2'), ('u3'), ('u6'), ('u7');
            ALTER TABLE events ADD FOREIGN KEY (user_id) REFERENCES people DEFERRABLE INITIALLY DEFERRED;
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF new.user_id = 'u6' THEN RAISE 'no sixes'; END IF; RETURN new; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()
            """)
        let stage = try test.open()
        let twice = PluginStage.event(1)
        let payloads = [1, 3, 4, 6, 7].map { PluginStage.event($0) } + [twice]
        #expect(
            offer(stage, payloads) == [
                .delivered,
                .rejected(reason: #"new row for relation "events" violates check constraint "events_user_id_check""#),
                .rejected(
                    reason:
                        #"insert or update on table "events" violates foreign key constraint "events_user_id_fkey": Key (user_id)=(u4) is not present in table "people"."#
                ),
                .rejected(reason: "no sixes"), .delivered,
                .rejected(
                    reason:
                        #"duplicate key value violates unique constraint "events_message_id_idx": Key (message_id)=(m-1) already exists."#
                ),
            ])
    }

    @Test func `if time runs out among rejected events, the rest is retried and progress is kept`() throws {
        try test.open().destination.close()
        _ = try test.rows(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM pg_sleep(0.1); RAISE 'never'; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()
            """)
        let stage = try test.open(#","timeout":"2s""#)
        let outcomes = try #require(offer(stage, (0..<64).map { PluginStage.event($0) }))
        let rejected = outcomes.prefix { $0 == .rejected(reason: "never") }.count
        #expect(1..<63 ~= rejected)
        let retry = Outcome.retry(reason: "PostgreSQL: too many rejected events for one batch's time")
        #expect(outcomes.dropFirst(rejected).allSatisfy { $0 == retry })
        #expect(try test.rows("SELECT position FROM penstock_position") == [["-"]])
    }
}
