import Events
import Platform
import Synchronization

/// From an append to its commit.
extension Journal {
    /// Copies the events and queues them for the next group commit. Never blocks, and queues either all events or none.
    /// - Parameters:
    ///   - events: lie within `bytes`, in the order in which they were sent.
    ///   - lane: the lane that the events come from, and the position behind them: stored with the events in one batch.
    ///     With a lane, there may be no events; then the end that is returned can be durable before the position is.
    ///   - witness: gets the end before the events can become durable.
    ///   - wakesWriter: false: `wakeWriter` or `commitAtOnce` follows soon, and more events before it. They share a
    ///     commit.
    package func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition? = nil,
        witness: (any AppendWitness)? = nil, wakesWriter: Bool = true
    ) -> JournalAppend {
        queue.append(bytes, events: events, from: origin, lane: lane, witness: witness, announces: wakesWriter)
    }

    /// Wakes the writer for events that were appended without. Any thread.
    package func wakeWriter() { queue.announce() }

    /// Commits events that were appended without waking the writer: on this thread if it is the only one that commits,
    /// the commit is small and the disk quick; otherwise it wakes the writer. Any thread that may wait for the disk:
    /// for less than `WriterTurn.slow` as a rule, for as long as the disk takes where it has become slow.
    package func commitAtOnce() {
        guard !stopping.load(ordering: .relaxed), context.options.sync == .always,
            let outcome = turn.commitAtOnce({ queue.nextCommit }, { step($0, mayPause: false, $1) })
        else { return wakeWriter() }
        switch outcome {
        case .idle: break
        case .wrote:
            if !spare.isReady { keeperBell.ring() }
            // More than one buffer may be queued.
            wakeWriter()
        case .filling, .stuck: writerBell.ring()
        }
        // The option has changed meanwhile: the writer's thread syncs later.
        if context.options.sync != .always { writerBell.ring() }
    }

    /// How long a commit may be put off for more events.
    package var commitDelay: Duration { context.options.commitDelay }

    /// The writer's thread; with `startStepped`, its end.
    func write(_ writer: JournalWriter, _ onSpace: @Sendable () -> Void) {
        WorkerThread.preferLatency()
        // The number of segments that the queued events may need.
        var attempts = 2 * context.options.memoryBytes / context.options.segmentSize + 3
        while true {
            ends.beat()
            let last = stopping.load(ordering: .acquiring)
            let outcome = turn.with(writer) { step($0, mayPause: !last, onSpace) }
            if outcome == .wrote {
                // The keeper prepares the next segment while this one fills.
                if !spare.isReady { keeperBell.ring() }
                continue
            }
            if last, outcome != .filling {
                // Perhaps only the next segment is missing, and the keeper may have ended.
                if outcome == .stuck, attempts > 0, (try? spare.prepare()) != nil {
                    attempts -= 1
                    continue
                }
                break
            }
            if outcome == .stuck { keeperBell.ring() }
            let tick = context.clock.now() + .seconds(1)
            writerBell.wait(until: min(tick, turn.with(writer) { $0.deadline } ?? tick))
        }
        turn.with(writer) { $0.finish() }
    }

    func step(
        _ writer: JournalWriter, mayPause: Bool = true, _ onSpace: @Sendable () -> Void
    ) -> JournalWriter.Outcome {
        let outcome = writer.step(mayPause: mayPause)
        if queue.spaceToTell() { onSpace() }
        return outcome
    }
}
