import Events
import Glibc
import Journal
import Platform
import Synchronization

extension JournalBenchmark {
    /// Measures the time from opening the journal until the first new event is durable.
    static func recover(_ place: Place) throws {
        let begin = SystemClock().now()
        let journal = try place.open()
        let opened = SystemClock().now()
        let first = Doorbell()
        let end = journal.durableEnd
        let space = Doorbell()
        journal.start(onDurable: { _ in first.ring() }, onSpace: { space.ring() })
        let sample = EventSample(count: 1)
        while case .busy = journal.append(sample.bytes.span, events: sample.events.span, from: EventSample.origin) {
            space.wait(until: SystemClock().now() + .milliseconds(10))
        }
        while journal.acknowledgedEnd <= end { first.wait() }
        let ready = SystemClock().now()
        let statistics = journal.statistics()
        journal.stop()
        print(
            #"{"open_s":\#((opened - begin).seconds),"first_append_s":\#((ready - begin).seconds),"#
                + #""segments":\#(statistics.segments),"gaps":\#(statistics.gapCount),"events":\#(end)}"#)
    }

    /// Several readers read all events, each on its own thread. The speed is that of all readers together.
    static func read(_ place: Place, readers: Int) throws {
        guard readers > 0 else { fail("journal-benchmark: give one reader or more\n") }
        let journal = try place.open()
        let events = Atomic(0)
        let begin = SystemClock().now()
        let cpu = cpuSeconds()
        let threads = (0..<readers).map { _ in
            WorkerThread(name: "reader") { events.add(readAll(journal), ordering: .relaxed) }
        }
        for thread in threads { thread.join() }
        let seconds = (SystemClock().now() - begin).seconds
        let used = cpuSeconds() - cpu
        let total = events.load(ordering: .relaxed)
        let bytes = Double(total * EventSample.eventSize)
        journal.stop()
        print(
            #"{"events":\#(total),"mb_per_s":\#(bytes / seconds / 1e6),"cpu_s_per_gb":\#(used / bytes * 1e9)}"#)
    }

    private static func readAll(_ journal: Journal) -> Int {
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        var events = 0
        do {
            while try reader.read(into: &batch, maximumBytes: 1 << 20) { events += batch.events.count }
        } catch {
            fail("journal-benchmark: \(error)\n")
        }
        return events
    }
}
