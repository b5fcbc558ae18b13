// Comparison: what would another configuration do with the events that the journal keeps? `penstock diff` shows it.
//
// - Both configurations run through the daemon's own routers, as in the rest of this room. What a destination gets is
//   compared as bytes; only for an event that differs, the fields are looked for, and only samples become trees.
// - A destination whose rules, routes and pipeline are equal in both configurations is not compared at all.
// - Transforms that remember earlier events (`dedupe`, `throttle`) see the events in order, in both configurations, and
//   before the first compared event those within their lookback.
// - Events were admitted when they were received. So `sources` (limits, `scrub`) and `plan`, which decide before an
//   event is stored, are not compared.
// - Memory is bounded: one piece of the journal for each thread, and a bounded number of fields and samples for each
//   destination.

import Assembly
import DaemonConfiguration
import Events
import Journal
import Platform
import Routing
import Synchronization

/// Compares two configurations with the events of a journal.
package struct ConfigurationComparison: Sendable {
    package struct Options: Sendable {
        /// The events to compare; nil bounds: all.
        package var range = DumpRange()
        /// Only events that match this filter are compared.
        package var filter: Filter?
        /// Only these destinations; empty: all.
        package var destinations: [String] = []
        /// With transforms that remember earlier events, no event before this is read; nil: as many as they remember.
        package var earliest: DumpRange.Bound?
        /// The most samples for each destination and verdict.
        package var samples = 3
        /// The most bytes of all samples that a thread keeps; larger ones are kept without their lines. nil: no limit.
        package var sampleBytes: Int?
        /// The host name that events are stamped with.
        package var host = "localhost"
        package var userNames: UserNames = { _ in nil }
        /// Each is a thread with the lowest priority.
        package var threads = 1
        /// Called before each piece of the journal, by one thread at a time; false ends the comparison.
        package var continues: @Sendable () -> Bool = { true }

        package init() {}
    }

    /// How far a comparison has come.
    package struct Progress: Sendable {
        package var events: UInt64
        package var bytes: Int
        /// Reading may end before, as in `StoredRange`.
        package var totalBytes: Int
    }

    /// Bytes of events that a thread takes at once.
    private static let piece = 1 << 20
    /// How often progress is reported.
    private static let period = Duration.milliseconds(50)

    private let old: Configuration
    private let new: Configuration
    private let options: Options

    /// - Parameters: both loaded with placeholders for their secrets (`withStandIns`).
    package init(from old: Configuration, to new: Configuration, _ options: Options) {
        self.old = old
        self.new = new
        self.options = options
    }

    /// Reads the journal once. Blocks.
    /// - Parameter onProgress: called on the calling thread, about twenty times per second.
    package func run(
        _ stored: StoredEvents, onProgress: (Progress) -> Void = { _ in }
    ) throws(JournalError) -> ComparisonReport {
        try run(journal: stored.journal, onProgress) { range throws(JournalError) in try stored.makeReader(of: range) }
    }

    /// - Parameters:
    ///   - journal: the 16 bytes that identify the journal.
    ///   - open: begins to read a range of its events.
    func run(
        journal: [UInt8], _ onProgress: (Progress) -> Void = { _ in },
        open: (DumpRange) throws(JournalError) -> any EventPieces
    ) throws(JournalError) -> ComparisonReport {
        let pairs = DestinationPair.pairs(old, new).filter {
            options.destinations.isEmpty || options.destinations.contains($0.name)
                || options.destinations.contains($0.old?.name ?? "")
        }
        let compared = pairs.filter { !$0.isIdentical }
        let surroundings = DestinationComparer.Surroundings(
            host: options.host, journal: journal, userNames: options.userNames, samples: options.samples,
            sampleBytes: options.sampleBytes.map { $0 / max(1, compared.count) })
        let make = { @Sendable [old, new] in
            compared.map { DestinationComparer($0, from: old, to: new, surroundings) }
        }
        let ordered = make().filter { $0.lookback != nil }
        let names = Set(ordered.map(\.pair.name))
        let lookback = ordered.compactMap(\.lookback?.time).max() ?? 0
        // Without destinations to compare, the journal need not be read.
        let count = max(1, options.threads)
        let inOrder = EventSelection(options, ordered)
        let source = SharedEvents(
            compared.isEmpty ? nil : try open(options.range.extended(back: lookback, to: options.earliest)),
            ordered: inOrder, threads: count, continues: options.continues)
        let found = Mutex(Found())
        let threads = (0..<count).map { number in
            WorkerThread(name: "compare-\(number)") { [options] in
                BackgroundPriority.enter()
                let selection = EventSelection(options, make().filter { !names.contains($0.pair.name) })
                var batch = EventBatch()
                while source.next(&batch, Self.piece) { selection.compare(batch) }
                found.withLock { $0.add(selection) }
                source.end()
            }
        }
        while let progress = source.progress {
            onProgress(progress)
            pause(for: Self.period)
        }
        for thread in threads { thread.join() }
        let missing = try source.missing()
        var all = found.withLock { $0 }
        for comparer in inOrder.comparers { all.add(comparer) }
        return ComparisonReport(
            from: old, to: new, pairs, all.tallies, all.events, missing: missing, isWhole: source.isWhole)
    }

    /// What the threads have found.
    private struct Found {
        var events = ComparedEvents()
        var tallies: [String: ComparisonTally] = [:]

        mutating func add(_ selection: EventSelection) {
            events.merge(selection.events)
            for comparer in selection.comparers { add(comparer) }
        }

        mutating func add(_ comparer: DestinationComparer) {
            if tallies[comparer.pair.name]?.merge(comparer.tally) == nil {
                tallies[comparer.pair.name] = comparer.tally
            }
        }
    }
}

extension DumpRange {
    /// The range with the events that were received up to this many nanoseconds before its start, or with all events
    /// from `earliest` on.
    fileprivate func extended(back time: Int64, to earliest: Bound?) -> DumpRange {
        if time > 0, let earliest { return DumpRange(from: earliest, until: until) }
        guard time > 0, case .time(let first)? = from else {
            // Positions do not say how long ago they were received.
            return time > 0 ? DumpRange(until: until) : self
        }
        let (earlier, overflow) = first.subtractingReportingOverflow(time)
        return DumpRange(from: .time(overflow ? .min : earlier), until: until)
    }
}
