import Events
import Platform
import Testing

@testable import Delivery

@Suite("Backoff")
struct BackoffTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `backoff grows up to its maximum and stays within its bounds`(seed: UInt64) {
        var backoff = Backoff(initial: .milliseconds(500), maximum: .seconds(60))
        var random = SeededRandom(seed)
        var ceiling = Duration.seconds(1)
        var late: [Duration] = []
        for failure in 0..<200 {
            let wait = backoff.fail(using: &random)
            #expect(wait >= .milliseconds(500))
            #expect(wait <= min(ceiling, .seconds(60)))
            if failure < 10 { ceiling += ceiling }
            if failure >= 10 { late.append(wait) }
        }
        // Full jitter: the waits spread over the whole range, not only near its end.
        #expect(late.min()! < .seconds(10))
        #expect(late.max()! > .seconds(50))
        backoff.reset()
        #expect(backoff.fail(using: &random) <= .seconds(1))
    }

    @Test func `backoff is at least the requested wait and at most its maximum`() {
        var backoff = Backoff(initial: .seconds(1), maximum: .seconds(60))
        var random = SeededRandom()
        #expect(backoff.fail(asked: .seconds(30), using: &random) >= .seconds(30))
        #expect(backoff.fail(asked: .seconds(86_400), using: &random) == .seconds(60))
        #expect(backoff.fail(asked: .seconds(-5), using: &random) >= .seconds(1))
    }
}

@Suite("A breaker")
struct BreakerTests {
    let start = Instant(nanoseconds: 0)

    @Test func `a breaker ignores outcomes of batches that were offered before the last failure`() {
        var breaker = Breaker(initial: .seconds(1), maximum: .seconds(60))
        var random = SeededRandom()
        let (first, second) = (breaker.offered(), breaker.offered())
        breaker.failed(round: first, now: start, asked: nil, progress: false, using: &random)
        breaker.succeeded(round: second)
        #expect(!breaker.mayOffer(start))
        let later = start + .seconds(2)
        #expect(breaker.mayOffer(later))
        let probe = breaker.offered()
        #expect(!breaker.mayOffer(later + .seconds(100)))
        breaker.succeeded(round: probe)
        #expect(breaker.state == .closed)
    }

    @Test func `a breaker stays open longer when a late answer asks for it`() {
        var breaker = Breaker(initial: .seconds(1), maximum: .seconds(60))
        var random = SeededRandom()
        let (first, second) = (breaker.offered(), breaker.offered())
        breaker.failed(round: first, now: start, asked: nil, progress: false, using: &random)
        breaker.failed(round: second, now: start, asked: .seconds(30), progress: false, using: &random)
        #expect(!breaker.mayOffer(start + .seconds(29)))
        #expect(breaker.mayOffer(start + .seconds(30)))
    }
}

@Suite("The in-flight window")
struct InFlightWindowTests {
    /// Offers and settles at random, and tracks every event separately.
    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `the window settles each event exactly once, whatever the outcomes`(seed: UInt64) {
        var random = SeededRandom(seed)
        var window = InFlightWindow()
        var unsettled: Set<UInt64> = []
        var next: UInt64 = 0
        var onOffer: [(id: UInt64, batch: OutboundBatch)] = []
        var reused = 0
        for step in 0..<2000 {
            if step < 1500, window.count < 5 {
                var batch = OutboundBatch()
                for _ in 0..<Int.random(in: 1...20, using: &random) {
                    batch.events.append(
                        OutboundEvent(
                            position: next, receivedAt: 0, kind: .track,
                            payload: batch.payload.count..<batch.payload.count + 1, messageID: 0..<0))
                    batch.payload += [UInt8(truncatingIfNeeded: next), 10]
                    unsettled.insert(next)
                    next += 1
                }
                window.add(batch)
            }
            while let offer = window.offerFirst(round: 0) { onOffer.append((offer.id, offer.batch)) }
            #expect(onOffer.count == window.offered)
            guard let index = onOffer.indices.randomElement(using: &random) else { continue }
            let (id, batch) = onOffer.remove(at: index)
            for event in batch.events {
                #expect(batch.payload[event.payload.lowerBound] == UInt8(truncatingIfNeeded: event.position))
            }
            let outcomes = batch.events.map { _ -> Outcome in
                switch Int.random(in: 0..<10, using: &random) {
                case 0: .retry(reason: "r")
                case 1: .rejected(reason: "x")
                case 2: .tooLarge(reason: "t")
                case 4: .someRejected(reason: "s")
                case 3: .hold(reason: "h")
                default: .delivered
                }
            }
            let result = window.settle(
                id, .each(outcomes), now: Instant(nanoseconds: 0), reuse: { _ in reused += 1 })
            var delivered = 0
            for (event, outcome) in zip(batch.events, outcomes) where outcome == .delivered {
                #expect(unsettled.remove(event.position) != nil)
                delivered += 1
            }
            for refused in result?.refused ?? [] { #expect(unsettled.remove(refused.event.position) != nil) }
            #expect(result?.delivered == delivered)
            #expect(window.first?.position == unsettled.min())
        }
        #expect(reused > 100)
        while window.count > 0 {
            while let offer = window.offerFirst(round: 0) { onOffer.append((offer.id, offer.batch)) }
            for (id, batch) in onOffer {
                for event in batch.events { #expect(unsettled.remove(event.position) != nil) }
                _ = window.settle(id, .all(.delivered), now: Instant(nanoseconds: 0), reuse: { _ in })
            }
            onOffer = []
        }
        #expect(unsettled.isEmpty)
    }

    @Test(arguments: [true, false])
    func `the window returns the buffers of a finished batch without copying them`(atOnce: Bool) {
        func address(_ batch: OutboundBatch) -> UInt {
            unsafe batch.payload.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        }
        var window = InFlightWindow()
        var builder = BatchBuilder(maximumEvents: 2, maximumBytes: 1 << 20, spare: 1)
        for number in 0..<2 {
            builder.batch.payload += [UInt8](repeating: UInt8(number), count: 5000)
            builder.batch.events.append(
                OutboundEvent(
                    position: UInt64(number), receivedAt: 0, kind: .track,
                    payload: number * 5000..<number * 5000 + 4999,
                    messageID: 0..<0))
            builder.count(Instant(nanoseconds: 0))
        }
        let before = builder.sealed.map(address)
        if let batch = builder.take(partial: false) { window.add(batch) }
        let id = window.offerFirst(round: 0)?.id ?? .max
        _ = window.settle(
            id, atOnce ? .all(.delivered) : .each([.delivered, .rejected(reason: "x")]), now: Instant(nanoseconds: 0),
            reuse: { builder.recycle(&$0) })
        // The next batch but one uses the spare buffers.
        builder.batch.events.append(
            OutboundEvent(position: 9, receivedAt: 0, kind: .track, payload: 0..<1, messageID: 0..<0))
        builder.count(Instant(nanoseconds: 0))
        _ = builder.take(partial: true)
        #expect(before != nil && address(builder.batch) == before)
        #expect(builder.batch.payload.isEmpty)
    }

    @Test(arguments: [1, 3])
    func `every buffer of a busy destination is used again`(inFlight: Int) {
        var builder = BatchBuilder(DeliveryPolicy(batchEvents: 1, inFlight: inFlight), DestinationLimits())
        var flying: [OutboundBatch] = []
        var position: UInt64 = 0
        func fill() {
            builder.batch.payload += [UInt8](repeating: 0, count: 5000)
            builder.batch.events.append(
                OutboundEvent(position: position, receivedAt: 0, kind: .track, payload: 0..<4999, messageID: 0..<0))
            position += 1
            builder.count(Instant(nanoseconds: 0))
        }
        for round in 0..<5 {
            // All batches in flight, a full one that waits, and one that is being filled.
            while flying.count < inFlight {
                fill()
                flying += [builder.take(partial: false)].compactMap(\.self)
            }
            fill()
            #expect(builder.sealed != nil)
            #expect(round == 0 || builder.batch.payload.capacity >= 5000)
            flying += [builder.take(partial: false)].compactMap(\.self)
            for index in flying.indices { builder.recycle(&flying[index]) }
            flying = []
        }
    }

    @Test
    func `a batch builder keeps the events of one position in one batch, and within the batch limit when they fit`() {
        var builder = BatchBuilder(maximumEvents: 4, maximumBytes: 1 << 20, spare: 1)
        var batches: [[UInt64]] = []
        for (position, count) in [3, 2, 1, 1, 6, 1, 4, 3].enumerated() {
            for part in 0..<count {
                let start = builder.batch.payload.count
                builder.batch.payload += [UInt8(part), 10]
                builder.batch.events.append(
                    OutboundEvent(
                        position: UInt64(position), part: UInt32(part), receivedAt: 0, kind: .track,
                        payload: start..<start + 1, messageID: 0..<0))
            }
            builder.count(Instant(nanoseconds: 0))
            while let batch = builder.take(partial: false) { batches.append(batch.events.map(\.position)) }
        }
        while let batch = builder.take(partial: true) { batches.append(batch.events.map(\.position)) }
        #expect(batches == [[0, 0, 0], [1, 1, 2, 3], [4, 4, 4, 4, 4, 4], [5], [6, 6, 6, 6], [7, 7, 7]])
    }

    @Test func `the window accepts no outcome twice, and none from before a reset`() throws {
        var window = InFlightWindow()
        var batch = OutboundBatch()
        batch.payload = [1, 10]
        batch.events = [OutboundEvent(position: 0, receivedAt: 0, kind: .track, payload: 0..<1, messageID: 0..<0)]
        window.add(batch)
        let first = window.offerFirst(round: 0)
        let offer = try #require(first)
        window = InFlightWindow(after: window)
        window.add(batch)
        _ = window.offerFirst(round: 0)
        let now = Instant(nanoseconds: 0)
        #expect(window.settle(offer.id, .all(.delivered), now: now, reuse: { _ in }) == nil)
        #expect(window.settle(offer.id + 1, .all(.delivered), now: now, reuse: { _ in }) != nil)
        #expect(window.settle(offer.id + 1, .all(.delivered), now: now, reuse: { _ in }) == nil)
    }
}
