import Delivery
import Testing

@testable import Explanation

/// The pure parts of a comparison: verdicts, counts, samples and differences of lines.
@Suite struct ComparisonStateTests {
    private static let nothing = EventOutcome.nothing(reason: "where")
    private static let dead = EventOutcome.deadLetter(reason: "r")

    @Test(
        arguments: [
            (nothing, nothing, nil), (nothing, .sent, .added), (nothing, dead, .deadLetter), (.sent, nothing, .lost),
            (.sent, dead, .deadLetter), (dead, .sent, .added), (dead, nothing, .lost), (dead, dead, .same),
        ] as [(EventOutcome, EventOutcome, EventVerdict?)])
    func `two outcomes give one verdict`(_ old: EventOutcome, _ new: EventOutcome, _ expected: EventVerdict?) {
        #expect(EventVerdict(old, new, outputsDiffer: true) == expected)
        #expect(EventVerdict(old, new, outputsDiffer: false) == expected)
    }

    @Test func `an event that is sent before and after is compared`() {
        #expect(EventVerdict(.sent, .sent, outputsDiffer: true) == .changed)
        #expect(EventVerdict(.sent, .sent, outputsDiffer: false) == .same)
    }

    private func sample(_ position: UInt64) -> ComparisonSample {
        ComparisonSample(
            position: position, receivedAt: 0, event: [], old: .init(outcome: .sent), new: .init(outcome: .sent))
    }

    @Test func `the first sample of each kind is kept, up to the limit of its verdict`() {
        var one = ComparisonTally(samples: 2)
        var other = ComparisonTally(samples: 2)
        for position in 0..<40 as Range<UInt64> {
            let kind = ComparisonTally.Kind(verdict: .lost, reason: "\(position / 2 % 5)")
            // Pieces of four events are divided between two threads.
            if position / 4 % 2 == 0 {
                one.keep(kind) { sample(position) }
                one.count(.lost)
            } else {
                other.keep(kind) { sample(position) }
                other.count(.lost)
            }
        }
        one.keep(.init(verdict: .added)) { sample(50) }
        one.merge(other)
        #expect(one.lost == 40)
        #expect(one.samples(.lost).map(\.position) == [0, 2])
        #expect(one.samples(.added).map(\.position) == [50])
        #expect(one.samples(.changed).isEmpty)
    }

    @Test func `paths beyond the limit are counted together`() {
        var counts = FieldCounts()
        for number in 0..<FieldCounts.limit + 5 {
            counts.add(DifferingField(path: Array("p\(number)".utf8), change: .added))
        }
        counts.add(DifferingField(path: Array("p7".utf8), change: .removed))
        #expect(counts.paths.count == FieldCounts.limit && counts.others == 5)
        #expect(counts.sorted.first?.path == Array("p7".utf8))
        #expect(counts.sorted.first?.counts == .init(added: 1, removed: 1))
        var other = counts
        other.merge(counts)
        #expect(other.others == 10 && other.sorted.first?.counts.total == 4)
    }

    @Test func `lines are compared with the fewest changes`() {
        func marks(_ old: [String], _ new: [String]) -> [String] {
            LineDifference(from: old, to: new).lines.map { $0.mark.rawValue + $0.text }
        }
        #expect(marks(["a", "b", "c"], ["a", "c"]) == [" a", "-b", " c"])
        #expect(marks(["a", "c"], ["a", "b", "c", "d"]) == [" a", "+b", " c", "+d"])
        #expect(marks(["a", "x", "b", "y"], ["a", "z", "b", "w"]) == [" a", "-x", "+z", " b", "-y", "+w"])
        #expect(marks([], ["a"]) == ["+a"])
        #expect(marks(["a"], ["a"]) == [" a"])
        #expect(marks([], []).isEmpty)
        let (long, longer) = ((0..<3_000).map { "a\($0)" }, (0..<3_000).map { "b\($0)" })
        #expect(marks(long, longer).count == 6_000)
        let excerpt = LineDifference(from: ["1", "2", "3", "4", "5", "6"], to: ["1", "2", "3", "x", "5", "6"]).excerpt(
            1)
        #expect(excerpt.map { $0.map { $0.mark.rawValue + $0.text } } == [nil, " 3", "-4", "+x", " 5", nil])
    }

    @Test(
        arguments: [
            (0, 10, "0 %"), (10, 10, "100 %"), (1, 100_000, "< 0.1 %"), (99_999, 100_000, "> 99.9 %"), (1, 3, "33.3 %"),
            (0, 0, "0 %"), (UInt64.max - 1, UInt64.max, "100 %"),
        ] as [(UInt64, UInt64, String)])
    func `a share is shown with three digits`(_ part: UInt64, _ whole: UInt64, _ expected: String) {
        let shown = ComparisonText.percent(part, of: whole)
        #expect(shown == expected || part == .max - 1 && shown == "> 99.9 %")
    }
}
