import Foundation
import Penstock
import PenstockTesting
import Testing

/// The daemon accepts everything that is written, whatever it contains. The test uses the daemon's own scanner.
@Suite struct WireTests {
    @Test func `every kind of event is written as the specification requires`() throws {
        let rig = Rig { $0.now = { Date(timeIntervalSince1970: 1_769_860_800.5) } }
        rig.analytics.identify("u1", traits: ["plan": "pro"])
        rig.analytics.page("Checkout", category: "Shop", ["step": 2])
        rig.analytics.screen("Inbox")
        rig.analytics.group("g1", traits: ["seats": 5])
        rig.analytics.alias("u2")
        rig.analytics.track("Post Liked", ["Liked": true])
        let anonymous = rig.analytics.anonymousID ?? ""
        let rest =
            #","messageId":"M","timestamp":"2026-01-31T12:00:00.500Z","userId":"U","anonymousId":"\#(anonymous)"}"#
        #expect(
            rig.events.map { event in
                event.description.replacing(event.messageID, with: "M").replacing(
                    #""userId":"\#(event.userID ?? "")""#, with: #""userId":"U""#)
            } == [
                #"{"type":"identify","traits":{"plan":"pro"}"# + rest,
                #"{"type":"page","name":"Checkout","category":"Shop","properties":{"step":2}"# + rest,
                #"{"type":"screen","name":"Inbox","properties":{}"# + rest,
                #"{"type":"group","groupId":"g1","traits":{"seats":5}"# + rest,
                #"{"type":"alias","previousId":"u1""# + rest,
                #"{"type":"track","event":"Post Liked","properties":{"Liked":true}"# + rest,
            ])
        #expect(rig.events.map(\.userID) == ["u1", "u1", "u1", "u1", "u2", "u2"])
    }

    @Test func `an event without its required values is not recorded`() {
        let rig = Rig()
        rig.analytics.identify("")
        rig.analytics.group("")
        rig.analytics.alias("")
        rig.analytics.track("", [:])
        #expect(rig.recording.events.isEmpty)
        #expect(rig.diagnostics.codes == Array(repeating: .invalid, count: 4))
        #expect(rig.analytics.statistics.failed == 4)
    }

    @Test func `an event above the size limit is not recorded`() {
        let rig = Rig { $0.maximumEventSize = 1000 }
        rig.analytics.track("Large", ["text": .string(String(repeating: "x", count: 900))])
        #expect(rig.recording.events.isEmpty)
        #expect(rig.diagnostics.codes == [.tooLarge])
        rig.analytics.track("Small")
        #expect(rig.events.map(\.name) == ["Small"])
    }

    @Test func `message ids are UUIDs and differ`() {
        let rig = Rig()
        for _ in 0..<1000 { rig.analytics.track("x") }
        let ids = Set(rig.recording.events.map(\.messageID))
        #expect(ids.count == 1000)
        #expect(
            ids.allSatisfy { UUID(uuidString: $0) != nil && Array($0)[14] == "7" && "89ab".contains(Array($0)[19]) })
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, -1e300, 1e300, -1, 253_402_300_800])
    func `no value of the clock stops recording`(seconds: Double) throws {
        let rig = Rig { $0.now = { Date(timeIntervalSince1970: seconds) } }
        rig.analytics.track("x")
        #expect(UUID(uuidString: try rig.event().messageID) != nil)
    }

    @Test func `middleware may set the timing to any value`() throws {
        let rig = Rig()
        rig.analytics.use(.enrich { $0[context: "timing"] = ["id": "1", "phase": "stop", "duration": 1e300] })
        rig.analytics.track("x")
        #expect(try rig.event().timing?.seconds == 1e9)
    }

    @Test func `the daemon accepts any event and reads back the same values`() {
        var random = Generator(state: 42)
        for _ in 0..<2000 {
            let rig = Rig(automaticContext: [.library, .process])
            let name = random.text() + "."
            let properties = random.object(depth: 4)
            if random.below(2) == 0 { rig.analytics.superProperties = random.object(depth: 1) }
            if random.below(2) == 0 { rig.analytics.setContext(random.text(), to: random.value(depth: 3)) }
            let shared = rig.analytics.superProperties
            rig.analytics.track(name, properties)
            guard let event = rig.events.first else {
                Issue.record("\(properties)")
                return
            }
            #expect(event.name == name)
            #expect(event.properties == properties.merging(shared, uniquingKeysWith: { own, _ in own }))
        }
    }

    @Test func `an event stays whole when middleware changes it`() {
        var random = Generator(state: 43)
        for _ in 0..<1000 {
            let rig = Rig()
            let properties = random.object(depth: 2)
            let (key, value) = (properties.keys.randomElement(using: &random) ?? random.text(), random.value(depth: 2))
            let removed = properties.keys.randomElement(using: &random) ?? "nothing"
            rig.analytics.use(
                .enrich { event in
                    event[property: removed] = nil
                    event[property: key] = value
                    event[context: key] = value
                    event.name = "changed \"\(key)\""
                    event.userID = "u"
                    event.anonymousID = nil
                })
            rig.analytics.track("x", properties)
            var expected = properties
            expected[removed] = nil
            expected[key] = value
            #expect(rig.events.first?.properties == expected)
            #expect(rig.events.first?.context == [key: value])
            #expect(rig.events.first?.name == "changed \"\(key)\"")
            #expect(rig.events.first?.anonymousID == nil)
        }
    }

    /// Unusual text and values, the same in every run.
    struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 33
        }

        mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

        mutating func text() -> String {
            let pieces = [
                "", "a", "\"", "\\", "\n", "\u{0}", "\u{1F}", "é", "🙂", "{", "}", "[", ",", ":", "\u{2028}", "_0",
                "\\u0041", "\u{FFFD}",
            ]
            return (0..<below(6)).map { _ in pieces[below(pieces.count)] }.joined()
        }

        mutating func object(depth: Int) -> [String: PropertyValue] {
            var members: [String: PropertyValue] = [:]
            for _ in 0..<below(5) { members[text()] = value(depth: depth) }
            return members
        }

        mutating func value(depth: Int) -> PropertyValue {
            switch below(depth > 0 ? 8 : 6) {
            case 0: .null
            case 1: .bool(below(2) == 0)
            case 2: .int(Int(bitPattern: next()) >> below(64))
            case 3: .double(Double(Int64(bitPattern: next())) / 1e6)
            case 4: .string(text())
            case 5: .decimal(Decimal(Int64(bitPattern: next())) / 1_000_000_000)
            case 6: .array((0..<below(4)).map { _ in value(depth: depth - 1) })
            default: .dictionary(object(depth: depth - 1))
            }
        }
    }
}
