import Platform

/// How much counters that only grow have grown within the last minutes. Pure.
///
/// A counter that is seen for the first time has grown by all that it says. One that says less than before was
/// started again (a reload replaced its owner), and has grown by what it says since.
struct RecentGrowth<Name: Hashable & Sendable>: Sendable {
    private struct Slice {
        var start: Instant
        var growth: [Name: UInt64] = [:]
    }

    private var totals: [Name: UInt64] = [:]
    private var slices: [Slice] = []

    /// - Parameter counts: every counter there is; one that is missing is forgotten.
    mutating func sample(_ counts: [Name: UInt64], at time: Instant) {
        if slices.last.map({ time - $0.start >= RecentGrowthWindow.slice }) ?? true { slices.append(Slice(start: time)) }
        slices.removeAll { time - $0.start > RecentGrowthWindow.length }
        for (name, count) in counts {
            let before = totals[name] ?? 0
            let growth = count >= before ? count - before : count
            if growth > 0 { slices[slices.count - 1].growth[name, default: 0] &+= growth }
        }
        totals = counts
    }

    /// Counters that have grown, and by how much.
    var growth: [Name: UInt64] {
        slices.reduce(into: [:]) { sum, slice in sum.merge(slice.growth) { $0 &+ $1 } }
    }
}

enum RecentGrowthWindow {
    /// What counts as recent. A slice is forgotten as a whole, so that it may be `slice` less.
    static let length = Duration.seconds(300)
    static let slice = Duration.seconds(5)
}
