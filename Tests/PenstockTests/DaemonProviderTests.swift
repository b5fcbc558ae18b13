import Foundation
import PenstockTesting
import Testing

@testable import Penstock

/// Tests with the real daemon.
@Suite struct DaemonProviderTests {
    @Test func `flushed events are in the file`() async throws {
        let daemon = try LocalDaemon()
        let provider = DaemonProvider(daemon.providerOptions)
        let analytics = Analytics(providers: [provider], userID: "u_1")
        for number in 0..<100 {
            analytics.track("Post Liked", ["number": .int(number), "text": "a \"b\"\n ü"])
        }
        analytics.identify("u_1", traits: ["plan": "pro"])
        #expect(await analytics.flush(timeout: .seconds(60)) == .complete)
        #expect(provider.statistics.acknowledged == 101)
        let events = try daemon.events(waitingFor: 101)
        #expect(events.map(\.number) == (0..<100).map { $0 } + [nil])
        #expect(events.map(\.name).dropLast().allSatisfy { $0 == "Post Liked" })
        #expect(events[7][property: "text"] == "a \"b\"\n ü")
        #expect(events[100].traits == ["plan": "pro"])
        #expect(daemon.stop() == 0)
    }

    @Test func `the events of eight threads all arrive, each thread's in order`() async throws {
        let daemon = try LocalDaemon()
        let provider = DaemonProvider(daemon.providerOptions)
        let each = 5000
        await withTaskGroup { group in
            for thread in 0..<8 {
                group.addTask { for number in 0..<each { provider.record(.numbered(number, thread: thread)) } }
            }
        }
        #expect(await provider.flush() == .complete)
        #expect(provider.statistics.dropped == 0)
        let events = try daemon.events(waitingFor: 8 * each)
        #expect(events.count == 8 * each)
        for thread in 0..<8 {
            #expect(
                events.filter { $0[property: "thread"] == .int(thread) }.compactMap(\.number)
                    == Array(0..<each))
        }
        #expect(daemon.stop() == 0)
    }

    @Test(arguments: [true, false])
    func `no event is lost while the daemon is down`(isKilled: Bool) async throws {
        let daemon = try LocalDaemon()
        var options = daemon.providerOptions
        options.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
        let provider = DaemonProvider(options)
        let reports = Reports()
        provider.attach(to: reports.handler)
        var next = 0
        func record(_ count: Int) {
            for number in next..<next + count { provider.record(.numbered(number, padding: 200)) }
            next += count
        }
        for _ in 0..<3 {
            record(2000)
            if isKilled { daemon.kill() } else { #expect(daemon.stop() == 0) }
            record(2000)
            try await eventually("the outage is noticed") {
                !provider.statistics.isConnected && provider.statistics.inMemory == 0
            }
            #expect(provider.statistics.spooledBytes > 0)
            record(2000)
            #expect(await provider.flush() == .complete, "spooled events are safe")
            try daemon.start()
            record(2000)
            try await eventually("everything is acknowledged") {
                provider.statistics.inMemory == 0 && provider.statistics.spooledBytes == 0
                    && provider.statistics.isConnected
            }
        }
        #expect(provider.statistics.dropped == 0)
        #expect(reports.of(.unreachable).count == 3, "one report per outage")
        var seen: Set<Int> = []
        let firsts = try daemon.events(waitingFor: next).compactMap(\.number).filter { seen.insert($0).inserted }
        #expect(firsts == Array(0..<next), "every event in order; some twice, with the same messageId")
        #expect(daemon.stop() == 0)
    }

    @Test func `a refusal is reported with its reason`() async throws {
        let daemon = try LocalDaemon()
        let provider = DaemonProvider(daemon.providerOptions)
        let reports = Reports()
        provider.attach(to: reports.handler)
        provider.record(.numbered(1))
        provider.record(
            RecordedEvent(
                kind: .track, consentCategory: .analytics, json: Array(#"{"type":"track","event":"E"}"#.utf8),
                at: CallSite("Shop/Checkout.swift", 12)))
        provider.record(.numbered(2))
        #expect(await provider.flush() == .complete)
        #expect(provider.statistics.refused == 1)
        let report = try #require(reports.of(.eventRefused).first)
        #expect(reports.of(.eventRefused).count == 1)
        #expect(report.event == "E" && report.callSite == "Shop/Checkout.swift:12")
        #expect(
            report.message.hasPrefix(
                #""E" at Shop/Checkout.swift:12 was refused by the daemon (no messageId): no_user_anon_id"#))
        #expect(try daemon.events(waitingFor: 2).compactMap(\.number) == [1, 2])
    }

    @Test func `a released provider sends its remaining events`() throws {
        let daemon = try LocalDaemon()
        do {
            let provider = DaemonProvider(daemon.providerOptions)
            for number in 0..<1000 { provider.record(.numbered(number)) }
        }
        #expect(try daemon.events(waitingFor: 1000).compactMap(\.number) == Array(0..<1000))
    }

    @Test(arguments: [true, false])
    func `withdrawn consent purges memory and spool, if asked`(purging: Bool) async throws {
        let daemon = try LocalDaemon(isStarted: false)
        // A process that has ended left events.
        do {
            let earlier = DaemonProvider(daemon.providerOptions)
            for number in 0..<10 { earlier.record(.numbered(number)) }
            #expect(await earlier.flush() == .complete)
        }
        var options = daemon.providerOptions
        options.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
        let provider = DaemonProvider(options)
        let analytics = Analytics(providers: [provider], userID: "u_1")
        for number in 10..<20 { analytics.track("x", ["number": .int(number)]) }
        #expect(await analytics.flush(timeout: .seconds(60)) == .complete)
        analytics.withdrawConsent(purging: purging)
        analytics.track("y")
        if purging {
            try await eventually("the spool is empty") {
                provider.statistics.spooledBytes == 0 && provider.statistics.inMemory == 0
            }
        }
        analytics.consent = .on
        analytics.track("x", ["number": -1])
        try daemon.start()
        let count = purging ? 1 : 21
        let numbers = try daemon.events(waitingFor: count).compactMap(\.number)
        #expect(numbers.sorted() == (purging ? [-1] : Array(-1..<20)))
        #expect(daemon.stop() == 0)
    }

    @Test func `a rejected configuration is reported with the reason`() {
        #expect { try LocalDaemon(configuration: "routs: []") } throws: { "\($0)".contains("routs") }
    }
}
