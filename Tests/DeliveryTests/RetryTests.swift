import Events
import Platform
import Synchronization
import Testing

@testable import Delivery

@Suite("Retry")
struct RetryTests {
    @Test func `a batch is retried after a wait within the bounds, and newer batches wait for it`() {
        let bench = Bench(
            DeliveryPolicy(batchEvents: 2, inFlight: 4, retryInitial: .seconds(1), retryMaximum: .seconds(10)))
        bench.destination.answer = { _ in .all(.retry(reason: "HTTP 503")) }
        bench.log.append(2)
        var times: [Instant] = []
        for _ in 0..<20 {
            let before = bench.destination.offers.count
            bench.turn()
            if bench.destination.offers.count > before { times.append(bench.clock.now()) }
            bench.log.append(1)
            guard let next = bench.turn() else { break }
            bench.clock.advance(max(.zero, next - bench.clock.now()))
        }
        let waits = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(waits.count >= 5)
        #expect(waits.allSatisfy { $0 >= .seconds(1) && $0 <= .seconds(10) })
        #expect(Set(bench.destination.positions) == [[0, 1]])
        #expect(bench.worker.status.retries == UInt64(times.count - 1))
        bench.destination.answer = { _ in .all(.delivered) }
        bench.run(for: .seconds(30))
        let end = bench.log.end
        #expect(bench.cursors.position == end)
        #expect(bench.worker.status.state == .up)
        #expect(bench.worker.status.lastError?.message == "HTTP 503")
    }

    @Test(arguments: [(5, 5), (3600, 60)])
    func `a worker obeys Retry-After, up to the longest wait`(asked: Int, expected: Int) {
        let bench = Bench(DeliveryPolicy(retryInitial: .milliseconds(10), retryMaximum: .seconds(60)))
        bench.destination.answer = { _ in .all(.retry(reason: "HTTP 429", after: .seconds(asked))) }
        bench.log.append(1)
        bench.turn()
        bench.destination.answer = { _ in .all(.delivered) }
        bench.clock.advance(.seconds(expected) - .milliseconds(1))
        bench.turn()
        #expect(bench.destination.offers.count == 1)
        bench.clock.advance(.milliseconds(1))
        bench.turn()
        #expect(bench.destination.offers.count == 2)
    }

    @Test func `failures of a whole window count as one, and a single probe precedes the other batches`() {
        let bench = Bench(
            DeliveryPolicy(batchEvents: 1, inFlight: 4, retryInitial: .seconds(1), retryMaximum: .seconds(600)))
        bench.destination.answer = nil
        bench.log.append(10)
        bench.turn()
        for _ in 0..<4 { bench.destination.settleFirst(.all(.retry(reason: "reset"))) }
        bench.turn()
        // After one failure, the wait is at most twice the initial one; after four, it may reach 16 s.
        bench.clock.advance(.seconds(2))
        bench.turn()
        #expect(bench.destination.positions.dropFirst(4) == [[0]])
        bench.destination.settleFirst(.all(.delivered))
        bench.turn()
        #expect(bench.destination.positions.dropFirst(5) == [[1], [2], [3], [4]])
    }

    @Test func `a dropped claim is a retry`() {
        let bench = Bench()
        bench.destination.answer = nil
        bench.log.append(2)
        bench.turn()
        bench.destination.dropFirst()
        bench.turn()
        #expect(bench.worker.status.state == .retrying)
        bench.destination.answer = { _ in .all(.delivered) }
        bench.run(for: .seconds(2))
        #expect(bench.destination.positions == [[0, 1], [0, 1]])
    }

    @Test func `a retry of part of a batch sends only that part, intact`() {
        let bench = Bench()
        bench.destination.answer = { batch in
            .each(batch.events.map { $0.position % 2 == 0 || $0.attempt > 0 ? .delivered : .retry(reason: "later") })
        }
        bench.log.append(12)
        bench.run(for: .seconds(10))
        #expect(bench.destination.positions == [Array(0..<12), [1, 3, 5, 7, 9, 11]])
        let again = bench.destination.offers[1]
        #expect(again.payload == Array("1\n3\n5\n7\n9\n11\n".utf8))
        #expect(again.events.map { Array(again.payload[$0.payload]) }.last == Array("11".utf8))
        #expect(bench.worker.status.delivered == 12)
        #expect(bench.cursors.position == 12)
    }

    @Test func `events without an outcome are retried`() {
        let bench = Bench()
        bench.destination.answer = { .each(Array($0.events.map { _ in Outcome.delivered }.prefix(3))) }
        bench.log.append(5)
        bench.run(for: .seconds(10))
        #expect(bench.destination.positions == [[0, 1, 2, 3, 4], [3, 4]])
        #expect(bench.worker.status.delivered == 5)
    }

    @Test
    func `a batch that is too large is halved down to the large event, and every other event is delivered once`() {
        let bench = Bench()
        bench.destination.answer = { batch in
            batch.events.contains { $0.position == 37 } ? .all(.tooLarge(reason: "HTTP 413")) : .all(.delivered)
        }
        bench.log.append(100)
        bench.run(for: .seconds(5))
        #expect(bench.sink.letters.map(\.position) == [37])
        #expect(bench.sink.letters.first?.reason == "HTTP 413")
        #expect(bench.worker.status.delivered == 99)
        let accepted = bench.destination.positions.filter { !$0.contains(37) }.flatMap(\.self)
        #expect(accepted == Array(0..<37) + Array(38..<100))
        #expect(bench.destination.offers.count < 40)
        #expect(bench.cursors.position == 100)
    }

    /// The offers of a batch of 1,000 events of which the service rejects some without saying which.
    private func search(for bad: Set<UInt64>) -> Bench {
        let bench = Bench()
        bench.destination.answer = { batch in
            batch.events.contains { bad.contains($0.position) }
                ? .all(.someRejected(reason: "HTTP 400", answer: "bad")) : .all(.delivered)
        }
        bench.log.append(1000)
        bench.run(for: .seconds(60))
        #expect(Set(bench.sink.letters.map(\.position)) == bad)
        #expect(bench.sink.letters.allSatisfy { $0.reason == "HTTP 400" && $0.answer == "bad" })
        let accepted = bench.destination.positions.filter { bad.isDisjoint(with: $0) }.flatMap(\.self)
        #expect(accepted == (0..<1000).filter { !bad.contains($0) })
        #expect(bench.cursors.position == 1000)
        return bench
    }

    @Test(arguments: [0, 1, 499, 500, 501, 777, 998, 999] as [UInt64])
    func `the one rejected event of a thousand is found with at most 13 requests`(_ bad: UInt64) {
        #expect(search(for: [bad]).destination.offers.count <= 13)
    }

    @Test func `an answer that names the event ends the search`() {
        let bench = Bench()
        bench.destination.answer = { batch in
            guard batch.events.contains(where: { $0.position == 30 || $0.position == 600 }) else {
                return .all(.delivered)
            }
            // The service says which event it is if there are few.
            return batch.events.count > 100
                ? .all(.someRejected(reason: "HTTP 400"))
                : .each(
                    batch.events.map { [30, 600].contains($0.position) ? .rejected(reason: "named") : .delivered })
        }
        bench.log.append(1000)
        bench.run(for: .seconds(60))
        #expect(bench.sink.letters.map(\.position) == [30, 600] && bench.worker.status.delivered == 998)
        #expect(bench.destination.offers.count < 30)
    }

    @Test func `a service that refuses many events together gets pieces that it accepts`() {
        let bench = Bench()
        bench.destination.answer = { batch in
            batch.events.count > 300 ? .all(.someRejected(reason: "HTTP 400")) : .all(.delivered)
        }
        bench.log.append(1000)
        bench.run(for: .seconds(60))
        #expect(bench.sink.letters.isEmpty && bench.worker.status.delivered == 1000)
        #expect(bench.destination.offers.count < 25)
    }

    @Test func `several rejected events of a batch are found, and all others are delivered once`() {
        #expect(search(for: [3, 4, 700]).destination.offers.count < 70)
        // With fewer requests than two for each event.
        #expect(search(for: Set(0..<1000)).destination.offers.count < 2030)
        #expect(search(for: Set((0..<1000).filter { $0 % 2 == 1 })).destination.offers.count < 2030)
    }

    @Test
    func `a rejected event becomes a dead letter that holds the event as the client sent it, and the answer`() throws {
        let bench = Bench()
        bench.router.size = 20
        bench.destination.answer = { batch in
            .each(batch.events.map { $0.position == 2 ? .rejected(reason: "bad row", answer: "no") : .delivered })
        }
        bench.log.append(4)
        bench.run(for: .seconds(2))
        let letter = try #require(bench.sink.letters.first)
        #expect(bench.sink.letters.count == 1)
        #expect(letter.position == 2)
        #expect(letter.event == Array("2".utf8))
        #expect(letter.origin?.source == "apps")
        #expect(letter.reason == "bad row")
        #expect(letter.answer == "no")
        #expect(letter.attempts == 1)
        #expect(letter.receivedAt == FakeLog.receivedAt(2))
        #expect(bench.worker.status.deadLettered == 1)
        #expect(bench.worker.status.delivered == 3)
        #expect(bench.cursors.position == 4)
    }

    @Test func `an event that the router rejects is dead-lettered before any newer event is offered`() {
        let bench = Bench()
        bench.router.verdict = { $0 == 1 ? .rejected(reason: "no number") : .routed }
        bench.sink.error = Broken("disk full")
        bench.log.append(3)
        bench.run(for: .seconds(30))
        #expect(bench.destination.offers.isEmpty)
        #expect(bench.worker.status.state == .held)
        #expect(bench.worker.status.positionSettled == 0)
        bench.sink.error = nil
        bench.run(for: .seconds(600))
        #expect(bench.sink.letters.map(\.position) == [1])
        #expect(bench.sink.letters.first?.attempts == 0)
        #expect(bench.destination.positions == [[0, 2]])
        #expect(bench.destination.offers.first?.payload == Array("0\n2\n".utf8))
        #expect(bench.cursors.position == 3)
        #expect(bench.worker.status.state == .up)
    }

    @Test func `a worker holds its destination until the dead letter store accepts a rejected event`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 1))
        bench.destination.answer = { $0.events[0].position == 1 ? .all(.rejected(reason: "bad")) : .all(.delivered) }
        bench.sink.error = Broken("no space left")
        bench.log.append(4)
        bench.run(for: .seconds(60))
        #expect(bench.destination.positions == [[0], [1]])
        #expect(bench.cursors.position == 1)
        #expect(bench.worker.status.state == .held)
        #expect(bench.worker.status.lastError?.message.contains("no space left") == true)
        bench.sink.error = nil
        bench.run(for: .seconds(600))
        #expect(bench.sink.letters.map(\.position) == [1])
        #expect(bench.destination.positions == [[0], [1], [2], [3]])
        #expect(bench.cursors.position == 4)
    }

    @Test func `an event that fails longer than give_up_after becomes a dead letter, and delivery continues`() {
        let bench = Bench(
            DeliveryPolicy(
                batchEvents: 1, retryInitial: .seconds(1), retryMaximum: .seconds(5), giveUpAfter: .seconds(60)))
        bench.destination.answer = { $0.events[0].position == 0 ? .all(.retry(reason: "HTTP 500")) : .all(.delivered) }
        bench.log.append(3)
        bench.run(for: .seconds(50))
        #expect(bench.sink.letters.isEmpty)
        bench.run(for: .seconds(30))
        #expect(bench.sink.letters.map(\.position) == [0])
        #expect(bench.sink.letters.first?.reason.contains("HTTP 500") == true)
        #expect(bench.sink.letters.first.map { $0.attempts > 3 } == true)
        #expect(bench.worker.status.delivered == 2)
        #expect(bench.cursors.position == 3)
    }

    @Test func `a batch that fails repeatedly is halved down to the failing event, which becomes a dead letter`() {
        let bench = Bench(
            DeliveryPolicy(
                batchEvents: 100, inFlight: 2, retryInitial: .milliseconds(10), retryMaximum: .seconds(1), attempts: 20)
        )
        bench.destination.answer = { batch in
            batch.events.contains { $0.position == 37 }
                ? .all(.retry(reason: "HTTP 500", answer: "oops")) : .all(.delivered)
        }
        bench.log.append(200)
        bench.run(for: .seconds(120))
        #expect(bench.sink.letters.map(\.position) == [37])
        #expect(bench.sink.letters.first?.reason.hasPrefix("given up after ") == true)
        #expect(bench.sink.letters.first?.answer == "oops")
        #expect(bench.worker.status.delivered == 199)
        #expect(
            bench.destination.positions.prefix(4).allSatisfy { $0.count == 100 },
            "the batch is halved as late as possible")
        #expect(bench.cursors.position == 200)
    }

    @Test func `attempts are counted for each event of a batch`() {
        let bench = Bench(
            DeliveryPolicy(batchEvents: 10, retryInitial: .milliseconds(10), retryMaximum: .seconds(1), attempts: 4))
        bench.destination.answer = { batch in
            .each(batch.events.map { $0.position % 5 == 0 ? .retry(reason: "busy") : .delivered })
        }
        bench.log.append(10)
        bench.run(for: .seconds(60))
        #expect(Set(bench.sink.letters.map(\.position)) == [0, 5])
        #expect(bench.sink.letters.allSatisfy { $0.reason == "given up after 4 attempts: busy" && $0.attempts == 4 })
        #expect(bench.worker.status.delivered == 8)
    }

    @Test(arguments: [1, 2, 3, 7], [1, 10, 64])
    func `events become dead letters after exactly the allowed attempts`(attempts: Int, batch: Int) {
        let bench = Bench(
            DeliveryPolicy(
                batchEvents: batch, inFlight: 2, retryInitial: .milliseconds(10), retryMaximum: .seconds(1),
                attempts: attempts))
        bench.destination.answer = { _ in .all(.retry(reason: "unreachable")) }
        bench.log.append(100)
        bench.run(for: .seconds(3600))
        #expect(bench.sink.letters.map(\.position).sorted() == Array(0..<100))
        #expect(bench.sink.letters.allSatisfy { $0.attempts == UInt32(attempts) })
        var requests: [UInt64: Int] = [:]
        for position in bench.destination.positions.joined() { requests[position, default: 0] += 1 }
        #expect(requests == Dictionary(uniqueKeysWithValues: (0..<100).map { ($0, attempts) }))
    }

    @Test func `attempts count in each piece of a batch that was too large, and a too_large answer is no attempt`() {
        let bench = Bench(
            DeliveryPolicy(batchEvents: 8, retryInitial: .milliseconds(10), retryMaximum: .seconds(1), attempts: 3))
        var refused: [UInt64: Int] = [:]
        bench.destination.answer = { batch in
            guard batch.events.count <= 2 else { return .all(.tooLarge(reason: "HTTP 413")) }
            for event in batch.events { refused[event.position, default: 0] += 1 }
            return .all(.retry(reason: "HTTP 503"))
        }
        bench.log.append(8)
        bench.run(for: .seconds(600))
        #expect(refused == Dictionary(uniqueKeysWithValues: (0..<8).map { ($0, 3) }))
        #expect(bench.sink.letters.count == 8)
    }

    @Test func `attempts count across a reopening of the destination`() {
        let bench = Bench(
            DeliveryPolicy(
                batchEvents: 4, retryInitial: .milliseconds(10), retryMaximum: .milliseconds(20), attempts: 3,
                checkpointInterval: .milliseconds(1)))
        bench.destination.answer = { _ in
            // The checkpoints after the first two offers fail, so the worker reopens the destination.
            bench.destination.checkpointError = bench.destination.offers.count < 3 ? Broken("fsync") : nil
            return .all(.retry(reason: "HTTP 503"))
        }
        bench.log.append(4)
        bench.run(for: .seconds(60))
        #expect(bench.destination.opened.count >= 3)
        #expect(bench.destination.positions.count { $0.contains(0) } == 3)
        #expect(bench.sink.letters.map(\.position).sorted() == [0, 1, 2, 3])
    }

    @Test(
        arguments: [
            DeliveryClaim.Settlement.all(.hold(reason: "HTTP 401")),
            .all(.retry(reason: "HTTP 503", after: .seconds(3000))),
        ])
    func `a resumed destination is tried at once and waits after another failure`(answer: DeliveryClaim.Settlement) {
        let bench = Bench(
            DeliveryPolicy(batchEvents: 2, retryInitial: .seconds(1000), retryMaximum: .seconds(10_000)))
        bench.destination.answer = { _ in answer }
        bench.log.append(2)
        bench.turn()
        let state = bench.worker.status.state
        #expect(state != .up)
        bench.turn()
        #expect(bench.destination.offers.count == 1)
        bench.worker.resume()
        bench.turn()
        #expect(bench.destination.offers.count == 2)
        #expect(bench.worker.status.state == state)
        bench.turn()
        #expect(bench.destination.offers.count == 2)
        bench.destination.answer = { _ in .all(.delivered) }
        bench.worker.resume()
        bench.turn()
        #expect(bench.worker.status.state == .up)
        #expect(bench.worker.status.delivered == 2)
    }

    @Test
    func `a rejected credential holds the destination, and no event is dead-lettered`() {
        let bench = Bench(
            DeliveryPolicy(
                batchEvents: 2, retryInitial: .seconds(1), retryMaximum: .seconds(100), giveUpAfter: .seconds(10)))
        bench.destination.answer = { _ in .all(.hold(reason: "HTTP 401")) }
        bench.log.append(6)
        bench.run(for: .seconds(1050))
        #expect(bench.worker.status.state == .held)
        #expect(bench.worker.status.lastError?.message == "HTTP 401")
        #expect((10...12).contains(bench.destination.offers.count))
        #expect(bench.sink.letters.isEmpty)
        bench.destination.answer = { _ in .all(.delivered) }
        bench.run(for: .seconds(200))
        #expect(bench.worker.status.state == .up)
        #expect(bench.worker.status.delivered == 6)
        #expect(bench.sink.letters.isEmpty)
    }

    @Test func `a rejected event becomes a dead letter even when the journal has lost the event`() throws {
        let bench = Bench()
        bench.destination.answer = nil
        bench.router.size = 5
        bench.log.append(2)
        bench.turn()
        bench.log.state.withLock { $0.missing = 0..<1 }
        bench.destination.settleFirst(.all(.rejected(reason: "bad")))
        bench.turn()
        #expect(bench.sink.letters.map(\.position) == [0, 1])
        let first = try #require(bench.sink.letters.first)
        #expect(first.origin == nil)
        #expect(first.event == Array("0    ".utf8))
        #expect(bench.sink.letters.last?.event == Array("1".utf8))
    }
}
