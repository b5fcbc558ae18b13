import Routing
import Testing

@Suite("Transforms that drop events")
struct SamplingTests {
    private static func track(user: Int, message: Int = 0) -> String {
        #"{"type":"track","event":"A","messageId":"m\#(message)","userId":"u\#(user)"}"#
    }

    @Test
    func `sample passes its share of users, always the same ones`() throws {
        let router = try router("- sample: { share: 25%, by: userId }")
        var passed: [Int] = []
        for user in 0..<4000 where outcome(of: router, Self.track(user: user)) != "dropped by sample" {
            passed.append(user)
        }
        #expect((900...1100).contains(passed.count))
        // The choice of users must never change.
        #expect(passed.prefix(5) == [0, 5, 7, 12, 15])
        #expect(
            passed.allSatisfy {
                outcome(of: router, Self.track(user: $0, message: 1), position: 99) == Self.track(user: $0, message: 1)
            })
        #expect(try transformed(Self.track(user: 1), "- sample: 100%") == Self.track(user: 1))
        #expect(try transformed(Self.track(user: 1), "- sample: 0") == "dropped by sample")
    }

    @Test
    func `sample chooses an event without the field by its position`() throws {
        let router = try router("- sample: { share: 0.5, by: properties.none }")
        let passed = (0..<1000).count {
            outcome(of: router, Self.track(user: 1), position: UInt64($0)) != "dropped by sample"
        }
        #expect((400...600).contains(passed))
    }

    @Test
    func `dedupe drops repeated events within its time, with the same answer when a position is read again`() throws {
        let router = try router("- dedupe: { within: 10s }")
        func pass(_ message: Int, at position: UInt64, second: Int64) -> Bool {
            outcome(
                of: router, Self.track(user: 1, message: message), position: position,
                receivedAt: second * 1_000_000_000)
                != "dropped by dedupe"
        }
        let run: [(message: Int, position: UInt64, second: Int64, passes: Bool)] = [
            (1, 10, 0, true), (2, 11, 0, true), (1, 12, 5, false), (1, 13, 10, false), (1, 14, 11, true),
            (1, 15, 12, false),
            (2, 70, 100, true), (2, 2_000_000, 101, false),
        ]
        for step in run {
            #expect(pass(step.message, at: step.position, second: step.second) == step.passes, "\(step)")
        }
        for step in run.suffix(1) {
            #expect(pass(step.message, at: step.position, second: step.second) == step.passes, "\(step)")
        }
        let again = try Self.fresh(run.dropLast(), "- dedupe: { within: 10s }")
        #expect(again == run.dropLast().map(\.passes) + run.dropLast().map(\.passes))
    }

    @Test(arguments: ["messageId", "properties.order"])
    func `dedupe passes events without an id, or with an empty one`(by field: String) throws {
        let router = try router("- dedupe: { by: \(field) }")
        let none = #"{"type":"track","event":"A","userId":"u"}"#
        let empty = #"{"type":"track","event":"A","userId":"u","messageId":"","properties":{"order":""}}"#
        for (position, event) in [empty, none, empty, none].enumerated() {
            #expect(outcome(of: router, event, position: UInt64(position)).hasPrefix("{"))
        }
    }

    /// Sends a run twice through one router.
    private static func fresh(
        _ run: ArraySlice<(message: Int, position: UInt64, second: Int64, passes: Bool)>, _ yaml: String
    ) throws -> [Bool] {
        let router = try router(yaml)
        return (run + run).map {
            outcome(
                of: router, track(user: 1, message: $0.message), position: $0.position,
                receivedAt: $0.second * 1_000_000_000
            )
            .hasPrefix("{")
        }
    }

    @Test
    func `dedupe remembers at most the configured number of keys`() throws {
        let router = try router("- dedupe: { keys: 3 }")
        let answers = [1, 2, 3, 1, 4, 1, 2].enumerated().map {
            outcome(of: router, Self.track(user: 1, message: $1), position: UInt64($0)).hasPrefix("{")
        }
        #expect(answers == [true, true, true, false, true, true, true])
    }

    @Test
    func `throttle counts each user in each interval, with the same answer when a position is read again`() throws {
        let router = try router("- throttle: { events: 2, every: 1m, by: userId }")
        let events: [(user: Int, second: Int64)] = [
            (1, 0), (1, 1), (1, 59), (2, 59), (1, 60), (1, 61), (1, 62), (2, 0),
        ]
        let expected = [true, true, false, true, true, true, false, true]
        for _ in 0..<2 {
            let passed = events.enumerated().map {
                outcome(
                    of: router, Self.track(user: $1.user), position: UInt64($0), receivedAt: $1.second * 1_000_000_000
                )
                .hasPrefix("{")
            }
            #expect(passed == expected)
        }
    }
}
