import Platform

/// Measures how much counters have grown within the last minutes. Pure.
///
/// A new counter counts as grown from 0. A counter that has become smaller was restarted, because a reload replaced its
/// owner, and also counts as grown from 0.
struct RecentGrowth<Name: Hashable & Sendable>: Sendable {
    private struct Slice {
        var start: Instant
        var growth: [Name: UInt64] = [:]
    }

    private var totals: [Name: UInt64] = [:]
    private var slices: [Slice] = []

    /// - Parameter counts: all counters. A counter that is missing is forgotten.
    mutating func sample(_ counts: [Name: UInt64], at time: Instant) {
        if slices.last.map({ time - $0.start >= RecentGrowthWindow.slice }) ?? true {
            slices.append(Slice(start: time))
        }
        slices.removeAll { time - $0.start > RecentGrowthWindow.length }
        for (name, count) in counts {
            let before = totals[name] ?? 0
            let growth = count >= before ? count - before : count
            if growth > 0 { slices[slices.count - 1].growth[name, default: 0] &+= growth }
        }
        totals = counts
    }

    /// The growth of each counter that has grown.
    var growth: [Name: UInt64] {
        slices.reduce(into: [:]) { sum, slice in sum.merge(slice.growth) { $0 &+ $1 } }
    }
}

enum RecentGrowthWindow {
    /// The period that counts as recent. A slice is forgotten as a whole, so the period may be up to `slice` shorter.
    static let length = Duration.seconds(300)
    static let slice = Duration.seconds(5)
}
