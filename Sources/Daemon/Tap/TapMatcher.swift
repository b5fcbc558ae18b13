import Delivery
import Events
import Journal
import Platform
import Routing

/// Applies a tap's filter. A filter is about the event as it was accepted, also where the tap shows what a destination
/// gets instead. The tap's thread only, once it has started.
// Unchecked: the request's thread makes it, and hands it to the tap's thread.
final class TapMatcher: @unchecked Sendable {
    /// The bytes of one read of the journal.
    private static let readSize = 256 << 10
    /// Events passed over by reading on, instead of looking for a position again.
    private static let nearby: UInt64 = 100_000

    private let matcher: FilterMatcher
    private var reader: JournalReader?
    private var batch = EventBatch()

    /// - Throws: an error in the filter.
    init(_ condition: String) throws(FilterError) {
        matcher = FilterMatcher(
            try Filter(parsing: condition), host: HostName.current, userNames: UserNameCache.shared.lookUp)
    }

    func matches(_ event: EventRecord, of batch: borrowing EventBatch) -> Bool {
        matcher.matches(batch.json(of: event), event.index, from: batch.origin(of: event))
    }

    func matches(_ letter: DeadLetter) -> Bool {
        matcher.matches(letter.event.span, letter.index, from: letter.origin)
    }

    /// Whether the accepted event at a position matches.
    /// - Returns: nil if the journal no longer has it.
    func matches(at position: UInt64, in journal: Journal) throws(JournalError) -> Bool? {
        var isBehind = reader == nil
        if let first = batch.events.first, position < first.position { isBehind = true }
        if batch.next < position, position - batch.next > Self.nearby { isBehind = true }
        if isBehind {
            reader = journal.makeReader(from: position)
            batch.removeAll()
            batch.next = position
        }
        while position >= batch.next || batch.events.isEmpty {
            guard try reader?.read(into: &batch, maximumBytes: Self.readSize) == true else { return nil }
        }
        // The first event that is not below the position.
        var (low, high) = (0, batch.events.count)
        while low < high {
            let middle = (low + high) / 2
            if batch.events[middle].position < position { low = middle + 1 } else { high = middle }
        }
        guard low < batch.events.count, batch.events[low].position == position else { return nil }
        return matches(batch.events[low], of: batch)
    }
}
