import CNats
import Foundation
import PluginTesting
import Testing

/// Hosts that share the lanes of a consumer.
@Suite struct NATSLeaseTests {
    private static let lanes = 6
    private static let subjects = #","subjects":["e.0","e.1","e.2","e.3","e.4","e.5"]"#

    private func publish(_ numbers: Range<Int>, _ test: NATSSourceTest) throws {
        try test.client.publish(numbers, to: { "e.\($0 % Self.lanes)" })
    }

    private func numbers(_ journals: LaneJournal...) -> [Int] {
        journals.flatMap(\.texts).compactMap { Int($0.dropFirst(5).dropLast()) }
    }

    @Test func `two hosts share the lanes, and one takes over at once when the other stops`() throws {
        let test = try NATSSourceTest(subject: "e.*")
        let other = LaneJournal()
        try publish(0..<600, test)
        let one = try test.open(Self.subjects)
        let two = try test.open(Self.subjects, journal: other)
        #expect(pluginEventually { one.openLanes.count + two.openLanes.count == Self.lanes })
        #expect(one.openLanes.isDisjoint(with: two.openLanes))
        #expect(pluginEventually { test.journal.count + other.count == 600 })
        let (first, second) = one.openLanes.count > two.openLanes.count ? (one, two) : (two, one)
        first.close()
        try publish(600..<1200, test)
        #expect(pluginEventually(within: .seconds(90)) { second.openLanes.count == Self.lanes })
        #expect(pluginEventually(within: .seconds(90)) { test.journal.count + other.count == 1200 })
        #expect(numbers(test.journal, other).sorted() == Array(0..<1200))
    }

    @Test func `lanes move between hosts again and again, and each message comes once`() throws {
        let test = try NATSSourceTest(subject: "e.*")
        let journals = [LaneJournal(), LaneJournal(), LaneJournal()]
        var stages = try journals.map { try test.open(Self.subjects, journal: $0) { $0.maxOfferEvents = 20 } }
        for round in 0..<6 {
            try publish(round * 1000..<round * 1000 + 1000, test)
            stages[round % 3].close()
            stages[round % 3] = try test.open(Self.subjects, journal: journals[round % 3]) { $0.maxOfferEvents = 20 }
        }
        // On a machine so busy that a lease is not released, it expires after 30 seconds.
        let isComplete = pluginEventually(within: .seconds(90)) { journals.reduce(0) { $0 + $1.count } >= 6000 }
        #expect(isComplete)
        let all = numbers(journals[0], journals[1], journals[2]).sorted()
        let repeated = zip(all, all.dropFirst()).filter { $0 == $1 }.map(\.0)
        #expect(Set(all) == Set(0..<6000))
        #expect(repeated.isEmpty, "\(stages.map(\.log))")
        #expect(stages.allSatisfy { $0.violations.isEmpty && $0.failure == nil })
    }

    @Test func `the lease of a host that was killed expires`() throws {
        let test = try NATSSourceTest()
        test.client.createBucket("short", seconds: 3)
        let start = ContinuousClock.now
        test.client.put("short", "S.penstock", "a host that was killed")
        try test.client.publish(0..<10)
        let stage = try test.open(#","leases":"short""#)
        test.waitFor(10, stage)
        #expect(ContinuousClock.now - start > .seconds(2))
        // It is renewed: after several times the TTL it is still there.
        let end = Date() + 7
        while Date() < end {
            #expect(test.client.value("short", "S.penstock")?.contains(" in on ") == true)
            usleep(200_000)
        }
        stage.close()
        #expect(test.client.value("short", "S.penstock") == "")
    }

    @Test func `a host that has lost its lease stops reading, and acknowledges what it has stored`() throws {
        let test = try NATSSourceTest()
        test.client.createBucket("short", seconds: 3)
        try test.client.publish(0..<10)
        let stage = try test.open(#","leases":"short""#)
        test.waitFor(10, stage)
        test.client.put("short", "S.penstock", "another host")
        #expect(pluginEventually { stage.openLanes.isEmpty })
        test.waitForFloor(10)
        #expect(stage.log.contains { $0.hasPrefix("the lease is lost") })
        // Nobody renews the other host's lease.
        try test.client.publish(10..<20)
        test.waitFor(20, stage)
        #expect(test.journal.texts == NATSSourceTest.events(0..<20))
    }

    @Test func `an instance takes the leases of the one before at once, and that one loses them`() throws {
        let test = try NATSSourceTest()
        test.client.createBucket("short", seconds: 60)
        try test.client.publish(0..<10)
        let first = try test.open(#","leases":"short""#)
        test.waitFor(10, first)
        let owner = test.client.value("short", "S.penstock")
        // As after a kill: the lease was not released.
        let second = try test.open(#","leases":"short""#)
        #expect(pluginEventually { second.openLanes == ["S"] })
        #expect(test.client.value("short", "S.penstock") != owner)
        try test.client.publish(10..<20)
        test.waitFor(20, second)
    }

    @Test func `a host that is blocked keeps its lease`() throws {
        let test = try NATSSourceTest()
        test.client.createBucket("short", seconds: 3)
        try test.client.publish(0..<100)
        let stage = try test.open(#","leases":"short""#, isHeld: true) {
            $0.maxOfferEvents = 5
            $0.window = 60
        }
        #expect(pluginEventually { stage.busyCount > 0 })
        let other = LaneJournal()
        let second = try test.open(#","leases":"short""#, journal: other)
        let end = Date() + 6
        while Date() < end, other.count == 0 { usleep(50_000) }
        #expect(other.count == 0 && second.openLanes.isEmpty)
        stage.release()
        test.waitFor(100, stage)
        #expect(test.journal.texts == NATSSourceTest.events(0..<100))
    }

    @Test func `a bucket without a TTL is a problem that says what to do`() throws {
        let test = try NATSSourceTest()
        test.client.createBucket("forever", seconds: 0)
        let stage = try test.open(#","leases":"forever""#)
        #expect(
            pluginEventually {
                stage.problem?.hasSuffix(
                    "the bucket forever has the TTL 0.0 seconds, but leases need 3 seconds to 1 hour: "
                        + "delete the bucket, or set settings.leases to another one") == true
            }, "\(stage.problem ?? "")")
    }
}
