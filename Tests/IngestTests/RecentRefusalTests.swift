import Events
import Testing

@testable import Ingest

/// The refusals that a source keeps.
@Suite struct RecentRefusalTests {
    private func refuse(_ statistics: SourceStatistics, _ numbers: Range<Int>) {
        let refusals = numbers.map { Refusal(reason: .invalidJSON, detail: "\($0)") }
        statistics.refuse(
            refusals.map { RefusedLine(line: 0, refusal: $0) },
            latest: refusals.suffix(SourceStatistics.recentLimit), at: 1)
    }

    @Test func `a watcher gets each refusal once, and the number of those that were not kept`() {
        let statistics = SourceStatistics()
        refuse(statistics, 0..<3)
        var place = statistics.refusalEnd
        var beginning = SourceStatistics.RefusalPlace()
        #expect(statistics.refusals(since: &place).recent.isEmpty)
        refuse(statistics, 3..<5)
        refuse(statistics, 5..<6)
        let some = statistics.refusals(since: &place)
        #expect(some.recent.map(\.refusal.detail) == ["3", "4", "5"] && some.others == 0)
        #expect(statistics.refusals(since: &place).recent.isEmpty)
        // More in one group than are kept, and more groups than fit.
        refuse(statistics, 6..<206)
        let last = statistics.refusals(since: &place)
        #expect(last.recent.map(\.refusal.detail) == (156..<206).map { "\($0)" } && last.others == 150)
        for number in 206..<306 { refuse(statistics, number..<number + 1) }
        let singles = statistics.refusals(since: &place)
        #expect(singles.recent.count == 50 && singles.others == 50)
        let all = statistics.refusals(since: &beginning)
        #expect(all.recent.count == 50 && all.others == 256)
    }
}
