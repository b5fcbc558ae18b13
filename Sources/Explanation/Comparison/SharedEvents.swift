import Events
import Journal
import Platform
import Routing
import Synchronization

/// The events of the journal that are compared.
struct ComparedEvents {
    typealias Event = (position: UInt64, receivedAt: Int64)

    var count: UInt64 = 0
    var first: Event?
    var last: Event?

    mutating func add(_ event: EventRecord) {
        count += 1
        if first == nil { first = (event.position, event.receivedAt) }
        last = (event.position, event.receivedAt)
    }

    /// Adds other events of the same range.
    mutating func merge(_ other: ComparedEvents) {
        count += other.count
        first = [first, other.first].compactMap(\.self).min { $0.position < $1.position }
        last = [last, other.last].compactMap(\.self).max { $0.position < $1.position }
    }
}

/// Events in the order of the journal, in pieces. One thread at a time.
protocol EventPieces: AnyObject {
    /// As `StoredRange`.
    func read(into batch: inout EventBatch, maximumBytes: Int) throws(JournalError) -> Bool
    var progress: (done: Int, total: Int) { get }
    var missing: UInt64 { get }
}

extension StoredRange: EventPieces {}

/// Compares the events of batches at several destinations. One thread.
final class EventSelection {
    let comparers: [DestinationComparer]
    private(set) var events = ComparedEvents()
    private let range: DumpRange
    private let matcher: FilterMatcher?

    init(_ options: ConfigurationComparison.Options, _ comparers: [DestinationComparer]) {
        self.comparers = comparers
        range = options.range
        matcher = options.filter.map { FilterMatcher($0, host: options.host, userNames: options.userNames) }
    }

    func compare(_ batch: borrowing EventBatch) {
        for event in batch.events {
            if selects(event, of: batch) {
                events.add(event)
                for comparer in comparers { comparer.compare(event, of: batch) }
            } else {
                for comparer in comparers where comparer.lookback != nil { comparer.recall(event, of: batch) }
            }
        }
    }

    /// With a lookback, the journal is read from before the range.
    private func selects(_ event: EventRecord, of batch: borrowing EventBatch) -> Bool {
        guard range.contains(position: event.position, time: event.receivedAt) else { return false }
        return matcher?.matches(batch.json(of: event), event.index, from: batch.origin(of: event)) ?? true
    }
}

/// The journal's events, which the threads of a comparison take in pieces. Any thread.
///
/// Unchecked: the lock guards every property.
final class SharedEvents: @unchecked Sendable {
    private let lock = Mutex(())
    /// nil: there is nothing to read.
    private let reader: (any EventPieces)?
    /// Sees all events in order.
    private let ordered: EventSelection
    private var read: UInt64 = 0
    private var failure: JournalError?
    private var isOver: Bool
    private var running: Int
    private var wasEnded = false
    private let continues: @Sendable () -> Bool

    /// - Parameters:
    ///   - threads: the number of threads that take pieces.
    ///   - continues: called before each piece; false: there are no more.
    init(
        _ reader: (any EventPieces)?, ordered: EventSelection, threads: Int,
        continues: @escaping @Sendable () -> Bool = { true }
    ) {
        self.continues = continues
        self.reader = reader
        self.ordered = ordered
        isOver = reader == nil
        running = threads
    }

    /// Replaces the batch's contents with the next events.
    /// - Returns: false: there are no more, or the journal cannot be read.
    func next(_ batch: inout EventBatch, _ bytes: Int) -> Bool {
        // The threads wait for each other here. Reading is short, compared to routing.
        lock.withLock { _ in
            guard !isOver, let reader else { return false }
            guard continues() else {
                wasEnded = true
                isOver = true
                return false
            }
            do throws(JournalError) {
                isOver = try !reader.read(into: &batch, maximumBytes: bytes)
            } catch {
                failure = error
                isOver = true
            }
            if isOver { return false }
            read += UInt64(batch.events.count)
            if !ordered.comparers.isEmpty { ordered.compare(batch) }
            return true
        }
    }

    /// Call at the end of each thread.
    func end() { lock.withLock { _ in running -= 1 } }

    /// nil: all threads have ended.
    var progress: ConfigurationComparison.Progress? {
        lock.withLock { _ in
            let (done, total) = reader?.progress ?? (0, 0)
            return running == 0 ? nil : .init(events: read, bytes: done, totalBytes: total)
        }
    }

    /// Whether all events were taken. Call after all threads have ended.
    var isWhole: Bool { lock.withLock { _ in !wasEnded } }

    /// The number of positions that cannot be read. Call after all threads have ended.
    /// - Throws: the journal could not be read to the end.
    func missing() throws(JournalError) -> UInt64 {
        if let failure = lock.withLock({ _ in failure }) { throw failure }
        return reader?.missing ?? 0
    }
}
