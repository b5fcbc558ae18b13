import CAllocations
import Events
import Glibc
import Journal
import Platform
import Synchronization

extension JournalBenchmark {
    /// Counts the heap allocations of a steady stream of events on each thread that handles it. Exits with 1
    /// if an event needs any. The unspecialized code of a debug build allocates for each batch, and for each
    /// event that is read, so a debug build checks only the additional allocations per event of append and
    /// commit.
    static func countAllocations(_ place: Place) throws {
        var last: Counts = (0, 0, 0)
        var perEvent = 0.0
        for events in [1, 100] {
            let counts = try countAllocations(place, batch: events)
            print(
                #"{"events_per_batch":\#(events),"append_per_batch":\#(counts.append),"commit_per_batch":\#(counts.commit),"#
                    + #""read_per_batch":\#(counts.read)}"#)
            perEvent = max(perEvent, (max(counts.append - last.append, counts.commit - last.commit)) / Double(events))
            #if DEBUG
                if events == 1 { perEvent = 0 }
            #else
                perEvent = max(perEvent, counts.read / Double(events))
            #endif
            last = counts
        }
        // A full segment or array sometimes causes an allocation.
        if perEvent > 0.01 { exit(1) }
    }

    private typealias Counts = (append: Double, commit: Double, read: Double)

    private static func countAllocations(_ place: Place, batch: Int) throws -> Counts {
        let rounds = 500
        let journal = try place.open()
        let writers = Atomic<UInt64>(0)
        let durable = Doorbell()
        journal.start(onDurable: { _ in
            writers.store(callocations_of_this_thread(), ordering: .relaxed)
            durable.ring()
        })
        defer { journal.stop() }
        let sample = EventSample(count: batch)
        let reader = journal.makeReader(from: journal.durableEnd)
        var events = EventBatch()
        var (append, commit, read): (UInt64, UInt64, UInt64) = (0, 0, 0)
        var writersBefore: UInt64 = 0
        // The first rounds allocate memory that later rounds reuse.
        for round in -100..<rounds {
            if round == 0 { (append, read, writersBefore) = (0, 0, writers.load(ordering: .relaxed)) }
            let before = callocations_of_this_thread()
            let outcome = journal.append(sample.bytes.span, events: sample.events.span, from: EventSample.origin)
            append += callocations_of_this_thread() - before
            guard case .queued(let end) = outcome else {
                fail("journal-benchmark: the journal did not queue the events\n")
            }
            while journal.acknowledgedEnd < end { durable.wait(until: SystemClock().now() + .milliseconds(100)) }
            let middle = callocations_of_this_thread()
            while reader.position < end, try reader.read(into: &events, maximumBytes: 1 << 20) {}
            read += callocations_of_this_thread() - middle
        }
        commit = writers.load(ordering: .relaxed) - writersBefore
        return (Double(append) / Double(rounds), Double(commit) / Double(rounds), Double(read) / Double(rounds))
    }
}
