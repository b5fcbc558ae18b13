import Synchronization

/// The segments in order of position. Any thread; the lock is held for a look-up only.
final class SegmentList: Sendable {
    private let list: Mutex<[Segment]>
    private let removals = Atomic(0)

    init(_ segments: [Segment]) { list = Mutex(segments) }

    var all: [Segment] { list.withLock { $0 } }
    var first: Segment? { list.withLock { $0.first } }
    var last: Segment? { list.withLock { $0.last } }

    /// The segment that holds the position, or the first one kept if that is later.
    func containing(_ position: UInt64) -> Segment? {
        list.withLock { segments in
            let later = Self.partition(segments) { $0.firstPosition > position }
            return later > 0 ? segments[later - 1] : segments.first
        }
    }

    /// The next one; after one that was removed, the first that is still there.
    func after(_ segment: Segment) -> Segment? {
        list.withLock { segments in
            let later = Self.partition(segments) { $0.firstPosition > segment.firstPosition }
            return later < segments.count ? segments[later] : nil
        }
    }

    /// Adds the newest; one of the same position takes its place.
    func append(_ segment: Segment) {
        list.withLock { segments in
            if segments.last?.firstPosition == segment.firstPosition { segments.removeLast() }
            segments.append(segment)
        }
    }

    /// Removes the oldest, if it is this one.
    func removeFirst(_ segment: Segment) {
        list.withLock { if $0.first === segment { $0.removeFirst() } }
    }

    /// Adds a segment in front that could not be removed.
    func putBack(_ segment: Segment) { list.withLock { $0.insert(segment, at: 0) } }

    /// Segments that went before `retain` asked for it, because the filesystem was full.
    var removedForSpace: Int { removals.load(ordering: .relaxed) }

    func countRemovedForSpace() { removals.add(1, ordering: .relaxed) }

    /// The index of the first that matches, where all that match come last.
    private static func partition(_ segments: [Segment], _ matches: (Segment) -> Bool) -> Int {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if matches(segments[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
