import Events
import Glibc
import Journal
import Platform
import Synchronization

/// State shared by the writer's callbacks and the producers.
final class Progress: Sendable {
    let commits = Atomic(0)
    let bells: [Doorbell]

    init(producers: Int) {
        bells = (0..<producers).map { _ in Doorbell() }
    }

    func ringAll() { for bell in bells { bell.ring() } }
}

extension JournalBenchmark {
    /// Producers append batches as fast as the journal takes them ("flood"), or each has at most two batches
    /// in flight ("step"). In "step", the next batches queue while the current ones are written, so a group
    /// commit has one batch of each producer.
    static func append(_ place: Place, producers: Int, batch: Int, mebibytes: Int, steps: Bool) throws {
        guard producers > 0, batch >= EventSample.eventSize, mebibytes > 0 else {
            fail("journal-benchmark: give more of each\n")
        }
        let journal = try place.open()
        let sample = EventSample(count: batch / EventSample.eventSize)
        let rounds = max(1, (mebibytes << 20) / EventSample.eventSize / producers / sample.events.count)
        let progress = Progress(producers: producers)
        journal.start(
            onDurable: { _ in
                progress.commits.add(1, ordering: .relaxed)
                if steps { progress.ringAll() }
            }, onSpace: { progress.ringAll() })
        let begin = SystemClock().now()
        let cpu = cpuSeconds()
        let threads = (0..<producers).map { number in
            WorkerThread(name: "producer") {
                produce(sample, rounds, to: journal, steps: steps, bell: progress.bells[number])
            }
        }
        for thread in threads { thread.join() }
        let total = UInt64(rounds * producers * sample.events.count)
        while journal.durableEnd < total { usleep(100) }
        let seconds = (SystemClock().now() - begin).seconds
        let used = cpuSeconds() - cpu
        journal.stop()
        let bytes = Double(total) * Double(EventSample.eventSize)
        print(
            #"{"events_per_s":\#(Double(total) / seconds),"mb_per_s":\#(bytes / seconds / 1e6),"#
                + #""commit_bytes":\#(bytes / Double(progress.commits.load(ordering: .relaxed))),"#
                + #""cpu_s_per_million":\#(used / Double(total) * 1e6)}"#)
    }

    private static func produce(_ sample: EventSample, _ rounds: Int, to journal: Journal, steps: Bool, bell: Doorbell)
    {
        var round = 0
        var last: UInt64 = 0
        while round < rounds {
            switch journal.append(sample.bytes.span, events: sample.events.span, from: EventSample.origin) {
            case .queued(let end):
                round += 1
                while steps, journal.acknowledgedEnd < last { bell.wait() }
                last = end
            // The wait is bounded because space may have become free before the answer.
            case .busy: bell.wait(until: SystemClock().now() + .milliseconds(10))
            case .refused(let refusal): fail("journal-benchmark: \(refusal.detail)\n")
            }
        }
    }

    /// Fills a journal and kills the process with SIGKILL in the middle of a flood.
    static func fill(_ place: Place, mebibytes: Int) throws {
        let journal = try place.open()
        let sample = EventSample(count: (64 << 10) / EventSample.eventSize)
        let limit = UInt64((mebibytes << 20) / EventSample.eventSize)
        let space = Doorbell()
        journal.start(onSpace: { space.ring() })
        while journal.durableEnd < limit {
            switch journal.append(sample.bytes.span, events: sample.events.span, from: EventSample.origin) {
            case .queued: break
            case .busy: space.wait(until: SystemClock().now() + .milliseconds(10))
            case .refused(let refusal): fail("journal-benchmark: \(refusal.detail)\n")
            }
        }
        kill(getpid(), SIGKILL)
    }
}
