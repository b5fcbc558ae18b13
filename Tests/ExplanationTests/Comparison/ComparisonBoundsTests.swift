import Journal
import Synchronization
import Testing

@testable import Explanation

/// The bounds that a caller sets to a comparison.
@Suite struct ComparisonBoundsTests {
    private static let all = """
        routes: [ { to: [a] } ]
        destinations: { a: { file: /tmp/a.ndjson } }
        """
    private static let narrow = all.replacing("{ to: [a] }", with: "{ where: userId = \"u1\", to: [a] }")

    /// The users are u0 and u1 in turn.
    private static func events(_ count: Int) -> [String] {
        (0..<count).map { #"{"type":"track","event":"A","userId":"u\#($0 % 2)","messageId":"m\#($0)"}"# }
    }

    private final class Calls: Sendable { let number = Atomic(0) }

    @Test(arguments: [1, 3]) func `a comparison that is ended has the first events`(threads: Int) throws {
        let calls = Calls()
        var options = ConfigurationComparison.Options()
        options.threads = threads
        options.continues = { calls.number.add(1, ordering: .relaxed).newValue <= 2 }
        let report = try compare(Self.all, Self.narrow, Self.events(20), options, piece: 4)
        #expect(!report.isWhole)
        #expect(report.events == 8 && report.first == 0 && report.last == 7)
        #expect(try report.destination("a").counts == .init(same: 4, lost: 4))
        #expect(try compare(Self.all, Self.narrow, Self.events(20)).isWhole)
    }

    @Test func `transforms that remember see no event before the earliest`() throws {
        let deduped = Self.all.replacing("{ to: [a] }", with: "{ to: [a], transforms: [dedupe: userId] }")
        var options = ConfigurationComparison.Options()
        options.range = DumpRange(from: .position(3))
        let unlimited = try compare(Self.all, deduped, Self.events(5), options)
        #expect(try unlimited.destination("a").counts == .init(lost: 2))
        // The first u1 is not read, so the one at position 3 is the first.
        options.earliest = .position(2)
        let limited = try compare(Self.all, deduped, Self.events(5), options)
        #expect(limited.events == 2)
        #expect(try limited.destination("a").counts == .init(same: 1, lost: 1))
        // Without such transforms, only the range is read.
        options.earliest = .position(0)
        #expect(try compare(Self.all, Self.narrow, Self.events(5), options).first == 3)
    }

    @Test func `samples beyond their limit in bytes have no lines`() throws {
        var options = ConfigurationComparison.Options()
        for (bytes, isShown) in [(nil, true), (1_000, true), (100, false)] as [(Int?, Bool)] {
            options.sampleBytes = bytes
            let sample = try #require(
                try compare(Self.all, Self.narrow, Self.events(4), options).destination("a").samples.first)
            #expect(sample.verdict == .lost && sample.position == 0)
            #expect(sample.lines.isEmpty != isShown, "\(bytes ?? 0)")
        }
    }
}
