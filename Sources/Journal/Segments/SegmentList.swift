import Synchronization

/// The segments in order of position. Any thread; the lock is held for a look-up only.
final class SegmentList: Sendable {
    private let list: Mutex<[Segment]>
    private let removals = Atomic(0)

    init(_ segments: [Segment]) { list = Mutex(segments) }

    var all: [Segment] { list.withLock { $0 } }
    var first: Segment? { list.withLock { $0.first } }
    var last: Segment? { list.withLock { $0.last } }

    /// The segment that holds the position, or the first segment if that is later.
    func containing(_ position: UInt64) -> Segment? {
        list.withLock { segments in
            let later = Self.partition(segments) { $0.firstPosition > position }
            return later > 0 ? segments[later - 1] : segments.first
        }
    }

    /// The next segment. After a removed segment: the first one that is left above it.
    func after(_ segment: Segment) -> Segment? {
        list.withLock { segments in
            let later = Self.partition(segments) { $0.firstPosition > segment.firstPosition }
            return later < segments.count ? segments[later] : nil
        }
    }

    /// Adds the newest segment. It replaces a segment with the same first position.
    func append(_ segment: Segment) {
        list.withLock { segments in
            if segments.last?.firstPosition == segment.firstPosition { segments.removeLast() }
            segments.append(segment)
        }
    }

    /// Removes `segment` if it is the oldest.
    func removeFirst(_ segment: Segment) {
        list.withLock { if $0.first === segment { $0.removeFirst() } }
    }

    /// Puts the oldest segment back after its file could not be removed.
    func putBack(_ segment: Segment) { list.withLock { $0.insert(segment, at: 0) } }

    /// The number of segments that were removed before `retain` required it, because the filesystem was full.
    var removedForSpace: Int { removals.load(ordering: .relaxed) }

    func countRemovedForSpace() { removals.add(1, ordering: .relaxed) }

    /// The index of the first match, given that all matches come last.
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
