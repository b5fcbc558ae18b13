import Control
import Platform
import Testing

@testable import Daemon

@Suite struct DegradedReasonsTests {
    typealias Destination = StatusReport.Destination

    static func destination(
        _ state: Destination.State = .up, lagEvents: UInt64 = 0, lagSeconds: Double = 0, lastError: String? = nil
    ) -> Destination {
        Destination(
            state: state, position: 0, delivered: 0, filtered: 0, deadLettered: 0, retries: 0, eventsPerSecond: 0,
            lagEvents: lagEvents, lagSeconds: lagSeconds, lastError: lastError)
    }

    static func journal(_ state: StatusReport.Journal.State = .ok, _ error: String? = nil) -> StatusReport.Journal {
        StatusReport.Journal(state: state, first: 0, next: 0, bytes: 0, segments: 1, lastError: error)
    }

    @Test func `a daemon with a healthy journal and healthy destinations is not degraded`() {
        let reasons = DegradedReasons(
            journal: Self.journal(), destinations: ["a": Self.destination()], recentDeadLetters: ["a": 0],
            recentRefusals: ["apps": [:]])
        #expect(reasons.list == [])
    }

    @Test(
        arguments: [
            (.full, "journal full: no \u{7}", "journal full: no \\u{7}"), (.full, nil, "journal full"),
            (.failed, nil, "journal cannot be written"),
        ] as [(StatusReport.Journal.State, String?, String)])
    func `a journal that cannot be written is a reason`(
        state: StatusReport.Journal.State, error: String?, reason: String
    ) {
        #expect(DegradedReasons(journal: Self.journal(state, error), destinations: [:]).list == [reason])
    }

    @Test func `damage of the journal is a reason that says what to do`() {
        #expect(
            DegradedReasons(journal: Self.journal(), destinations: [:], damage: 1).list == [
                "the journal lost 1 position to damage: see penstock journal verify, check the disk, then delete the copies in quarantine/"
            ])
    }

    @Test func `a destination that is not up is a reason, with its error and lag`() {
        let reasons = DegradedReasons(
            journal: Self.journal(),
            destinations: [
                "mixpanel": Self.destination(.retrying, lagSeconds: 850, lastError: "HTTP 503"),
                "up": Self.destination(),
                "x\n": Self.destination(.held, lastError: "a\nb\u{1B}["),
            ])
        #expect(reasons.list == ["mixpanel retrying: HTTP 503, 14 min behind", "x\\n held: a\\nb\\u{1B}["])
    }

    @Test func `a stuck thread, a refused reload and a destination that falls behind are reasons`() {
        let reasons = DegradedReasons(
            journal: Self.journal(), destinations: ["a": Self.destination(lagSeconds: 900)],
            stuckThreads: ["ingest 0": .milliseconds(7900)],
            refusedReload: .init(
                time: "2026-01-01T00:00:00Z", errors: ["p.yaml:3:5: error: unknown key \"x\"\n  x: y\n  ^", "other"]),
            fallingBehind: ["a": .init(seconds: 900, aMinuteAgo: 850)])
        #expect(
            reasons.list == [
                "no progress for 7 s in thread ingest 0",
                "a reload was refused at 2026-01-01T00:00:00Z, and the files differ from the running configuration: p.yaml:3:5: error: unknown key \"x\"",
                "a falls behind: 15 min, and 14 min a minute ago",
            ])
    }

    @Test func `dead letters and refusals of the last minutes are reasons with their counts`() {
        let reasons = DegradedReasons(
            journal: Self.journal(), destinations: [:], recentDeadLetters: ["b": 1, "a": 1200],
            recentRefusals: ["apps": ["rate_limited": 1, "journal_full": 40_000]])
        #expect(
            reasons.list == [
                "apps refused 40,000 events in the last 5 min: journal_full",
                "apps refused 1 event in the last 5 min: rate_limited",
                "1,200 dead letters for a in the last 5 min: penstock dead-letters list a",
                "1 dead letter for b in the last 5 min: penstock dead-letters list b",
            ])
    }

    @Test(arguments: zip([0, 2, 900] as [UInt64], [[], ["2 dead letters"], ["5 dead letters"]] as [[String]]))
    func `dead letters that were dropped or delivered since are no reason`(left: UInt64, reasons: [String]) {
        var destination = Self.destination()
        destination.deadLetters = .init(letters: left, bytes: 0, expired: 0, retried: 0, isRetrying: false)
        let list = DegradedReasons(
            journal: Self.journal(), destinations: ["a": destination], recentDeadLetters: ["a": 5]
        ).list
        #expect(list == reasons.map { "\($0) for a in the last 5 min: penstock dead-letters list a" })
    }
}

@Suite struct RecentGrowthTests {
    private static func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func `growth expires after five minutes`() {
        var growth = RecentGrowth<String>()
        growth.sample(["a": 3, "b": 0], at: Self.at(0))
        #expect(growth.growth == ["a": 3])
        for second in Int64(1)...299 { growth.sample(["a": second < 100 ? 3 : 5, "b": 0], at: Self.at(second)) }
        #expect(growth.growth == ["a": 5])
        growth.sample(["a": 5], at: Self.at(301))
        #expect(growth.growth == ["a": 2])
        growth.sample(["a": 5], at: Self.at(402))
        #expect(growth.growth == [:])
    }

    @Test func `a counter that restarts at zero has grown by its new value`() {
        var growth = RecentGrowth<String>()
        growth.sample(["a": 10], at: Self.at(0))
        growth.sample(["a": 2], at: Self.at(1))
        #expect(growth.growth == ["a": 12])
        growth.sample([:], at: Self.at(2))
        growth.sample(["a": 4], at: Self.at(3))
        #expect(growth.growth == ["a": 16])
    }
}
