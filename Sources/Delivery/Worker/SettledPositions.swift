/// The settled positions of a passage, with the gaps that batches in flight leave.
package struct SettledPositions: Sendable, Equatable {
    /// Everything below is settled.
    package var position: UInt64
    /// More settled positions: ascending ranges above `position`, no two of which touch.
    package var ranges: [Range<UInt64>]

    package init(position: UInt64, ranges: [Range<UInt64>] = []) {
        self.position = position
        self.ranges = ranges
    }

    /// - Parameters:
    ///   - end: everything below is routed.
    ///   - unsettled: ranges below `end` that hold unsettled events, in any order.
    ///   - known: ranges that were settled before a restart, whatever `unsettled` says.
    init(routedTo end: UInt64, unsettled: [Range<UInt64>], known: [Range<UInt64>]) {
        var settled = known
        var next: UInt64 = 0
        for range in unsettled.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > next { settled.append(next..<range.lowerBound) }
            next = max(next, range.upperBound)
        }
        if end > next { settled.append(next..<end) }
        self = SettledPositions(joining: settled)
    }

    private init(joining settled: [Range<UInt64>]) {
        position = 0
        ranges = []
        for range in settled.sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
            if range.lowerBound <= position {
                position = max(position, range.upperBound)
            } else if let last = ranges.last, range.lowerBound <= last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                ranges.append(range)
            }
        }
    }
}

/// One pass of events to a destination.
package enum Passage: Sendable, Equatable {
    case delivery
    case replay(id: String)
    /// Dead letters. The tag distinguishes them from all other letters that were ever retried (`DeadLetterRetry.tag`).
    case retry(tag: UInt64)
}
