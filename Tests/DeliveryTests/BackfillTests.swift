import Events
import Platform
import Synchronization
import Testing

@testable import Delivery

@Suite("A backfill")
struct BackfillTests {
    private func replay(_ positions: Range<UInt64>, rate: Int? = nil) -> Replay {
        Replay(id: "r1", from: 0, until: .max, positions: positions, eventsPerSecond: rate, acceptedAt: 0)
    }

    private func begin(_ replay: Replay, on bench: Bench) {
        bench.cursors.kept.withLock { $0 = replay }
        bench.worker.backfill()
    }

    /// A bench that has delivered live events up to position 100.
    private func bench(_ policy: DeliveryPolicy = DeliveryPolicy(batchEvents: 10, inFlight: 4)) -> Bench {
        let bench = Bench(policy)
        bench.log.append(100)
        bench.run(for: .seconds(2))
        return bench
    }

    private func again(_ bench: Bench) -> [UInt64] {
        bench.destination.offers.filter { $0.livePosition != nil }.flatMap { $0.events.map(\.position) }
    }

    private func live(_ bench: Bench) -> [UInt64] {
        bench.destination.offers.filter { $0.livePosition == nil }.flatMap { $0.events.map(\.position) }
    }

    @Test func `a replay delivers its range once and in order, and moves no cursor back`() {
        let bench = bench()
        begin(replay(20..<75), on: bench)
        bench.log.append(5)
        bench.run(for: .seconds(3))
        #expect(again(bench) == Array(20..<75))
        #expect(live(bench) == Array(0..<105))
        #expect(bench.destination.offers.allSatisfy { $0.livePosition.map { (100...105).contains($0) } ?? true })
        #expect(
            bench.cursors.advances.withLock { $0.map(\.position) }
                == bench.cursors.advances.withLock { $0.map(\.position).sorted() })
        #expect(bench.cursors.position == 105)
        #expect(bench.cursors.replay(of: "shop") == nil, "the replay is over")
        let status = bench.worker.status
        #expect(status.replay?.state == .done && status.replay?.progress.delivered == 55)
        #expect(status.replayed == 55 && status.delivered == 105)
    }

    @Test(arguments: [(2, 1), (4, 2), (9, 4)])
    func `a replay leaves half of the in-flight window to live events`(inFlight: Int, share: Int) {
        let bench = bench(DeliveryPolicy(batchEvents: 10, inFlight: inFlight))
        bench.destination.answer = nil
        begin(replay(0..<100), on: bench)
        bench.turn()
        #expect(bench.destination.held == share)
        bench.log.append(10)
        bench.turn()
        #expect(live(bench).suffix(10) == Array(100..<110), "replay batches wait for answers")
    }

    @Test func `a replay waits for live events when only one batch may be in flight`() {
        let bench = bench(DeliveryPolicy(batchEvents: 10, inFlight: 1))
        bench.destination.answer = nil
        begin(replay(0..<100), on: bench)
        bench.turn()
        bench.log.append(25)
        bench.turn()
        for _ in 0..<3 {
            bench.destination.settleFirst(.all(.delivered))
            bench.turn()
        }
        let offers = bench.destination.offers.suffix(4).map { ($0.livePosition == nil, $0.events.count) }
        #expect(offers.map(\.0) == [false, true, true, true])
        #expect(offers.map(\.1) == [10, 10, 10, 5])
    }

    @Test func `a failing replay holds up no live event and finishes in the end`() {
        let bench = bench()
        bench.destination.answer = { $0.livePosition == nil ? .all(.delivered) : .all(.retry(reason: "too old")) }
        begin(replay(0..<30), on: bench)
        bench.log.append(10)
        bench.run(for: .seconds(5))
        #expect(live(bench).count == 110)
        #expect(bench.worker.status.state == .up)
        #expect(bench.worker.status.replay?.state == .retrying)
        #expect(bench.worker.status.replay?.lastError?.message == "too old")
        bench.destination.answer = { _ in .all(.delivered) }
        bench.run(for: .seconds(1000))
        #expect(bench.worker.status.replay?.state == .done)
    }

    @Test func `a replay waits while the service is down`() {
        let bench = bench()
        bench.destination.answer = { _ in .all(.retry(reason: "down")) }
        bench.log.append(1)
        bench.turn()
        begin(replay(0..<30), on: bench)
        bench.run(for: .seconds(60))
        #expect(again(bench).isEmpty)
    }

    @Test
    func `a replay starts after live delivery gave up its last event, although no live event can probe the service`() {
        let bench = bench(DeliveryPolicy(batchEvents: 10, inFlight: 4, attempts: 2))
        bench.destination.answer = { $0.livePosition == nil ? .all(.retry(reason: "down")) : .all(.delivered) }
        bench.log.append(1)
        bench.run(for: .seconds(60))
        #expect(bench.worker.status.deadLettered == 1)
        begin(replay(20..<75), on: bench)
        bench.run(for: .seconds(600))
        #expect(again(bench) == Array(20..<75))
        #expect(bench.worker.status.replay?.state == .done)
    }

    @Test(arguments: [false, true])
    func `a replay resumes where it stopped, and a late destination's cursor stays behind it`(isLate: Bool) throws {
        let bench = bench()
        bench.destination.isLate = isLate
        bench.destination.answer = nil
        begin(replay(0..<100), on: bench)
        bench.turn()
        bench.destination.settleFirst(.all(.delivered))
        bench.turn()
        // The first checkpoint covers ten events. A late destination reports it with the next one.
        bench.clock.advance(.seconds(1))
        bench.turn()
        #expect(bench.cursors.replay(of: "shop")?.progress.position == (isLate ? 0 : 10))
        bench.clock.advance(.seconds(1))
        bench.turn()
        let kept = try #require(bench.cursors.replay(of: "shop"))
        #expect(kept.progress.position == 10 && kept.progress.delivered == 10)

        let next = Bench(DeliveryPolicy(batchEvents: 10), cursor: 100)
        next.log.append(100)
        next.cursors.kept.withLock { $0 = kept }
        next.run(for: .seconds(2))
        #expect(again(next) == Array(10..<100))
        #expect(next.worker.status.replay?.progress.delivered == 100)
    }

    @Test func `a cancelled replay ends when the destination has settled its last batch`() {
        let bench = bench(DeliveryPolicy(batchEvents: 10, inFlight: 1))
        bench.destination.answer = nil
        begin(replay(0..<100), on: bench)
        bench.turn()
        bench.cursors.kept.withLock { $0 = nil }
        bench.worker.backfill()
        bench.log.append(1)
        bench.turn()
        #expect(bench.destination.held == 1, "a destination that takes one batch at a time gets no second one")
        bench.destination.settleFirst(.all(.delivered))
        bench.turn()
        #expect(live(bench).last == 100)
        #expect(bench.worker.status.replay?.state == .cancelled)
        #expect(again(bench).count == 10)
    }

    @Test func `a replay keeps its own rate`() {
        let bench = bench()
        begin(replay(0..<100, rate: 20), on: bench)
        bench.run(for: .seconds(2))
        #expect((30...65).contains(again(bench).count), "a burst of one second, then 20 events a second")
        bench.run(for: .seconds(4))
        #expect(again(bench) == Array(0..<100))
    }

    @Test func `a replay counts events that are missing from the journal`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 10))
        bench.log.state.withLock { $0.missing = 0..<40 }
        bench.log.append(100)
        bench.run(for: .seconds(2))
        begin(replay(10..<60), on: bench)
        bench.run(for: .seconds(2))
        #expect(again(bench) == Array(40..<60))
        #expect(bench.worker.status.replay?.progress.missing == 30)
    }

    @Test func `a replay does not overtake unsettled live events`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 10, inFlight: 4))
        bench.destination.answer = { $0.events[0].position == 0 ? nil : .all(.delivered) }
        bench.log.append(30)
        bench.turn()
        begin(replay(5..<20), on: bench)
        bench.turn()
        #expect(again(bench).isEmpty)
        bench.destination.settleFirst(.all(.delivered))
        bench.run(for: .seconds(2))
        #expect(again(bench) == Array(5..<20))
    }

    // MARK: Dead letters

    private func letter(_ position: UInt64, attempts: UInt32 = 2) -> DeadLetter {
        DeadLetter(
            position: position, receivedAt: 5, event: Array("original \(position)".utf8),
            index: EventIndex(kind: .track),
            origin: nil, reason: "HTTP 400", answer: "", attempts: attempts, refusedAt: 1)
    }

    @Test
    func `a retried dead letter is removed when delivered, and otherwise stored again with its attempts added up`() {
        let bench = bench()
        bench.destination.answer = { batch in
            .each(batch.events.map { $0.position == 12 ? .rejected(reason: "still wrong") : .delivered })
        }
        bench.backfillRouter.verdict = {
            $0 == 13 ? .rejected(reason: "no mapping") : $0 == 14 ? .filtered(reason: "no_route") : .routed
        }
        bench.sink.retries = [
            DeadLetterRetry(letters: [letter(11), letter(12), letter(13), letter(14)], numbers: [0, 1, 2, 3]),
            DeadLetterRetry(letters: [letter(3)], numbers: [9]),
        ]
        bench.worker.backfill()
        bench.run(for: .seconds(2))
        #expect(again(bench) == [11, 12, 3])
        #expect(bench.sink.finished == [[0, 1, 2, 3], [9]])
        let letters = bench.sink.letters.sorted { $0.position < $1.position }
        #expect(letters.map(\.position) == [12, 13])
        #expect(letters.map(\.attempts) == [3, 2])
        #expect(letters.map(\.reason) == ["still wrong", "no mapping"])
        #expect(letters.allSatisfy { $0.event == Array("original \($0.position)".utf8) }, "as the client sent it")
        #expect(bench.worker.status.retried == 2)
        #expect(bench.worker.status.retry?.state == .done)
    }

    @Test func `a retried dead letter has the sender that the journal stored with it, if it still has the event`() {
        var known = letter(15)
        known.event = Array("15".utf8)
        let retry = DeadLetterRetry(letters: [letter(11), known], numbers: [0, 1])
        let bench = bench()
        bench.sink.retries = [retry]
        bench.worker.backfill()
        bench.run(for: .seconds(2))
        // Another event has position 11 now, and its sender is not that of the letter.
        var unknown = Origin(unknownPeerOf: "")
        unknown.host = ""
        let sender = Origin(source: "apps", uid: 7, gid: 7, pid: 7)
        #expect(bench.backfillRouter.senders == [unknown, sender])
    }

    @Test func `a retried dead letter stays stored until the destination has made the event durable`() {
        let bench = bench()
        bench.sink.retries = [DeadLetterRetry(letters: [letter(1)], numbers: [0])]
        bench.destination.checkpointError = Broken()
        bench.worker.backfill()
        bench.turn()
        #expect(again(bench) == [1] && bench.sink.finished.isEmpty)
        bench.destination.checkpointError = nil
        bench.run(for: .seconds(60))
        #expect(bench.sink.finished == [[0]])
        #expect(again(bench) == [1, 1], "the event is offered at least once")
    }
}
