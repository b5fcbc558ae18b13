import Foundation
import Platform
import Testing

@testable import Control

@Suite struct StatusReportTests {
    typealias Destination = StatusReport.Destination

    static func destination(
        _ state: Destination.State = .up, lagSeconds: Double = 0, lastError: String? = nil, answer: String? = nil,
        next: Double? = nil
    ) -> Destination {
        Destination(
            state: state, position: 90, delivered: 1234, filtered: 5, deadLettered: 1, retries: 2, eventsPerSecond: 10,
            lagEvents: 7, lagSeconds: lagSeconds, lastError: lastError, nextAttemptSeconds: next,
            since: "2026-01-01T00:00:00Z", stateSeconds: 850,
            lastErrorTime: lastError.map { _ in "2026-01-01T00:01:00Z" },
            lastAnswer: answer)
    }

    static func report(
        _ destinations: [String: Destination] = ["archive": destination()], reasons: [String] = [],
        refusals: [StatusReport.Refusal] = []
    ) -> StatusReport {
        StatusReport(
            reasons: reasons, version: "0.1", uptimeSeconds: 90_000, eventsPerSecond: 12_300.2,
            sources: [
                "apps": .init(
                    accepted: 2000, refused: 3, refusedByReason: ["invalid_json": 1, "too_large": 2], connections: 4,
                    listens: ["/run/penstock/events.sock"])
            ],
            journal: .init(
                state: .ok, first: 1, next: 100, bytes: 64 << 20, segments: 2, retainBytes: 20 << 30,
                retainSeconds: 604_800),
            destinations: destinations,
            recentRefusals: refusals)
    }

    @Test func `the JSON has the names that scripts rely on`() throws {
        let refusal = StatusReport.Refusal(time: "t", source: "apps", reason: "too_large", detail: "d", messageID: "m")
        let report = Self.report(
            ["mixpanel": Self.destination(.held, lastError: "HTTP 401", answer: "no", next: 3)],
            reasons: ["mixpanel held"], refusals: [refusal])
        let json = try #require(try JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any])
        func keys(_ path: String...) -> Set<String> {
            var value: Any? = json
            for name in path { value = (value as? [String: Any])?[name] }
            return Set((value as? [String: Any] ?? [:]).keys)
        }
        #expect(
            keys() == [
                "health", "reasons", "version", "uptime_seconds", "events_per_second", "sources", "journal",
                "destinations",
                "recent_refusals",
            ])
        #expect(
            keys("sources", "apps") == [
                "accepted", "refused", "duplicates", "refused_by_reason", "violations_by_reason", "normalised",
                "connections", "limits", "listens",
            ])
        #expect(keys("sources", "apps", "refused_by_reason") == ["invalid_json", "too_large"])
        #expect(
            keys("journal") == [
                "state", "first", "next", "bytes", "segments", "damaged", "retain_bytes", "retain_seconds", "when_full",
                "removed_for_space",
            ])
        #expect(
            keys("destinations", "mixpanel") == [
                "state", "since", "state_seconds", "position", "delivered", "filtered",
                "filtered_by_reason", "dead_lettered", "dropped", "retries", "events_per_second", "lag_events",
                "lag_seconds", "last_error", "last_error_time", "last_answer", "next_attempt_seconds", "replayed",
            ])
        #expect(json["health"] as? String == "degraded")
        #expect(((json["recent_refusals"] as? [[String: Any]])?.first?["messageId"]) as? String == "m")
        #expect(try JSONDecoder().decode(StatusReport.self, from: JSONEncoder().encode(report)) == report)
    }

    @Test(
        arguments: [
            (2, 1.1, "to-out", 0.89, nil),
            (2, 1.1, "to-out", 0.9, "the thread to-out uses 90 % of a processor"),
            (8, 7.19, "ingest 1", 0.996, "the thread ingest 1 uses 100 % of a processor"),
            (2, 1.8, "to-out", 0.7, "1.8 of 2 processors are in use, most by the thread to-out (70 % of a processor)"),
            (1, 0.98, "to-out", 0.7, "0.98 of 1 processor is in use, most by the thread to-out (70 % of a processor)"),
            (
                0.05, 0.046, "http", 0.3,
                "0.05 of 0.05 processors are in use, most by the thread http (30 % of a processor)"
            ),
            (1.001, 1, "http", 0.3, "1 of 1 processor is in use, most by the thread http (30 % of a processor)"),
            (.infinity, 1.8, "http", 0.3, nil),
            (0, 3, "a\u{1b}", .nan, "3 of 0 processors are in use, most by the thread a\\u{1B} (0 % of a processor)"),
        ] as [(Double, Double, String, Double, String?)])
    func `the status says which thread is the limit`(
        processors: Double, used: Double, thread: String, share: Double, limit: String?
    ) {
        var report = Self.report()
        #expect(!StatusText.render(report).contains("limit:"))
        let load = StatusReport.Load(
            processors: processors, used: used, busiestThread: thread, busiestUsed: share)
        #expect(load.limit == limit)
        report.load = load
        let lines = StatusText.render(report).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.contains { $0 == "limit: \(limit ?? "")" } == (limit != nil))
    }

    @Test func `a load beyond all numbers is shown`() {
        let load = StatusReport.Load(processors: 1e300, used: .infinity, busiestThread: "http", busiestUsed: 0.3)
        #expect(load.limit?.hasPrefix("1000000000000000000 of 1000000000000000000 processors are in use") == true)
    }

    @Test func `normalised events are shown under their source, and only then`() {
        var report = Self.report()
        #expect(!StatusText.render(report).contains("normalised"))
        report.sources["apps"]?.normalised = ["numeric_ids": 12_000, "empty_ids": 1]
        #expect(StatusText.render(report).contains("apps normalised events: empty_ids 1, numeric_ids 12,000\n"))
    }

    @Test func `events that transforms dropped are shown by reason, but not those that only routes excluded`() {
        var destination = Self.destination()
        destination.filteredByReason = ["no_route": 5]
        #expect(!StatusText.render(Self.report(["archive": destination])).contains("no_route"))
        destination.filteredByReason = ["no_route": 5, "sample": 12_000, "dedupe": 5]
        #expect(
            StatusText.render(Self.report(["archive": destination])).contains("sample 12,000, dedupe 5, no_route 5"))
    }

    @Test(
        arguments: [
            (["archive": destination()], [], "12,300 events/s; 1 destination up"),
            (
                [
                    "a": destination(), "b": destination(), "c": destination(), "d": destination(),
                    "mixpanel": destination(.retrying),
                ],
                ["mixpanel retrying: HTTP 503, 14 min behind"],
                "12,300 events/s; 4 destinations up, mixpanel retrying: HTTP 503, 14 min behind"
            ),
            ([:], ["a", "b", "c", "d", "e"], "12,300 events/s; 0 destinations up, a, b, c, and 2 more"),
        ] as [([String: Destination], [String], String)])
    func `the sentence names three reasons and counts the others`(
        destinations: [String: Destination], reasons: [String], sentence: String
    ) {
        let report = Self.report(destinations, reasons: reasons)
        #expect(StatusText.sentence(report) == sentence)
        #expect(report.health == (reasons.isEmpty ? .healthy : .degraded))
    }

    @Test func `the text consists of a sentence and columns`() {
        let refusal = StatusReport.Refusal(
            time: "2026-01-01T00:00:00Z", source: "apps", reason: "too_large", detail: "40000 bytes")
        var report = Self.report(
            [
                "archive": Self.destination(),
                "mixpanel": Self.destination(
                    .retrying, lagSeconds: 3, lastError: "HTTP 503", answer: "over\u{1B}loaded", next: 12),
            ],
            reasons: ["mixpanel retrying: HTTP 503, 3.0 s behind", "2 dead letters\u{1B}"], refusals: [refusal])
        report.destinations["archive"]?.latency = .init(p50: 0.0123, p99: 0.0841)
        report.journal.sync = .init(p50: 0.000_25, p99: 0.0042)
        report.journal.commit = .init(p50: 0.0009, p99: 0.006)
        #expect(
            StatusText.render(report) == """
                degraded: 12,300 events/s; 1 destination up
                  - mixpanel retrying: HTTP 503, 3.0 s behind
                  - 2 dead letters\\u{1B}
                penstock 0.1, up 25 h

                SOURCE  CONNECTIONS  ACCEPTED  REFUSED  REASONS
                apps              4     2,000        3  too_large 2, invalid_json 1

                journal: ok, 64.0 MiB in 2 segments, positions 1 to 100
                journal: keeps at most 20.0 GiB and 7 d, when full: block

                DESTINATION  STATE        FOR  DELIVERED  PER SECOND  FILTERED  DEAD  RETRIES  LAG (EVENTS)  LAG (TIME)  LAST ERROR
                archive      up        14 min      1,234          10         5     1        2             7         0 s
                mixpanel     retrying  14 min      1,234          10         5     1        2             7         3 s  HTTP 503, the service says: over\\u{1B}loaded (next attempt in 12 s)

                LATENCY (LAST MINUTE)     P50     P99
                journal commit         900 µs    6 ms
                journal sync           250 µs  4.2 ms
                delivery to archive     12 ms   84 ms

                REFUSED AT            SOURCE  REASON     DETAIL
                2026-01-01T00:00:00Z  apps    too_large  40000 bytes

                """)
    }

    @Test func `a refused reload is shown with all its errors`() throws {
        var report = Self.report(reasons: ["a reload was refused"])
        report.refusedReload = .init(
            time: "2026-01-01T00:00:00Z",
            errors: ["a.yaml:1:2: error: no\u{1B}\n  x: y\n     ^", "b.yaml:3:4: error: unknown key"])
        #expect(
            StatusText.render(report).contains(
                """
                  - a reload was refused
                the reload at 2026-01-01T00:00:00Z was refused; the previous configuration stays in effect:
                    a.yaml:1:2: error: no\\u{1B}
                      x: y
                         ^
                    b.yaml:3:4: error: unknown key
                penstock 0.1
                """))
        #expect(report.refusedReload?.firstError == "a.yaml:1:2: error: no\u{1B}")
        #expect(try JSONDecoder().decode(StatusReport.self, from: JSONEncoder().encode(report)) == report)
    }

    @Test func `losses because of a full disk or a full journal are shown`() {
        var lost = Self.destination()
        lost.dropped = 1250
        var one = Self.destination()
        one.dropped = 1
        var report = Self.report(["archive": lost, "one": one, "other": Self.destination()])
        report.journal.removedForSpace = 2
        let text = StatusText.render(report)
        #expect(text.contains("journal: 2 delivered segments removed early: the filesystem was full\n"))
        #expect(text.contains("archive lost its oldest 1,250 events: the journal was full\n"))
        #expect(text.contains("one lost its oldest 1 event: the journal was full\n"))
        #expect(!text.contains("other lost"))
    }

    @Test func `colours appear only on request and change nothing else`() {
        let report = Self.report(["x": Self.destination(.held)], reasons: ["x held"])
        let plain = StatusText.render(report)
        let colored = StatusText.render(report, color: true)
        #expect(!plain.contains("\u{1B}"))
        #expect(colored.contains("\u{1B}[33mdegraded\u{1B}[0m"))
        #expect(colored.contains("\u{1B}[31mheld\u{1B}[0m "))
        #expect(colored.contains("journal: \u{1B}[32mok\u{1B}[0m, "))
        #expect(colored.replacing(/\u{1B}\[[0-9]+m/, with: "") == plain)
    }

    @Test(
        arguments: [
            (-1, "0 s"), (.nan, "0 s"), (0.004, "4 ms"), (0.0994, "99 ms"), (0.0996, "0.10 s"), (0.25, "0.25 s"),
            (0.999, "1 s"),
            (9.94, "9.9 s"), (9.96, "10 s"), (90, "90 s"), (99.4, "99 s"), (100, "1.7 min"), (840, "14 min"),
            (5990, "1.7 h"),
            (36 * 3600, "36 h"), (3 * 86_400, "72 h"), (10 * 86_400, "10 d"), (100 * 86_400, "100 d"),
            (.infinity, "11,574,074,074,074 d"),
        ] as [(Double, String)])
    func `a duration has at most two significant digits`(seconds: Double, text: String) {
        #expect(Readable.duration(seconds) == text)
    }

    @Test(
        arguments: [
            (-1, "0 µs"), (.nan, "0 µs"), (0.000_000_4, "0 µs"), (0.000_001, "1 µs"), (0.000_25, "250 µs"),
            (0.000_999, "999 µs"), (0.000_999_9, "1 ms"), (0.0042, "4.2 ms"), (90, "90 s"),
        ] as [(Double, String)])
    func `a latency may have microseconds`(seconds: Double, text: String) {
        #expect(Readable.latency(seconds) == text)
    }

    @Test func `the latencies of the last minute are in the JSON, if there are any`() throws {
        var report = Self.report()
        report.destinations["archive"]?.latency = .init(p50: 0.5, p99: 2)
        report.journal.sync = .init(p50: 0.25, p99: 4)
        let json = try #require(try JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any])
        let archive = (json["destinations"] as? [String: [String: Any]])?["archive"]
        #expect(archive?["latency_seconds"] as? [String: Double] == ["p50": 0.5, "p99": 2])
        let journal = json["journal"] as? [String: Any]
        #expect(journal?["sync_seconds"] as? [String: Double] == ["p50": 0.25, "p99": 4])
        #expect(journal?["commit_seconds"] == nil)
        #expect(try JSONDecoder().decode(StatusReport.self, from: JSONEncoder().encode(report)) == report)
    }

    @Test(
        arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (.max, "18,446,744,073,709,551,615")] as [(UInt64, String)]
    )
    func `large numbers are grouped`(number: UInt64, text: String) {
        #expect(Readable.grouped(number) == text)
    }

    @Test(
        arguments: [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (20 << 30, "20.0 GiB"), (.max, "16777216.0 TiB")]
            as [(UInt64, String)])
    func `sizes have binary units`(bytes: UInt64, text: String) {
        #expect(Readable.size(bytes) == text)
    }
}
