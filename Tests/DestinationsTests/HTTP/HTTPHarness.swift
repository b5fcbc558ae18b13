import Delivery
import Destinations
import Events
import Platform
import Synchronization
import Testing

/// An HTTP destination with its own engine. A test's thread uses it as a worker does in its turns.
final class HTTPHarness: @unchecked Sendable {
    /// The longest wait of a test. Without a fault, everything here takes less than a second.
    static let patience: Duration = .seconds(60)

    let engine: HTTPEngine
    private let destination: HTTPDestination
    private let work = Mutex<[@Sendable (HTTPDestination) -> Void]>([])
    private let pool = RoutingPool(threads: 2)
    private let place: RoutingPlace

    /// - Parameter engine: a running engine; nil: the harness starts its own.
    init(
        _ options: HTTPOptions, limits: HTTPEngine.Limits = HTTPEngine.Limits(), engine running: HTTPEngine? = nil,
        clock: any Clock = SystemClock()
    ) throws {
        engine = try running ?? HTTPEngine(limits: limits)
        destination = try HTTPDestination(options, engine: engine, clock: clock)
        place = pool.register()
        destination.attach(wake: place.wake)
        place.begin { [weak self] _, _ in
            self?.workOff()
            return nil
        }
        if running == nil { engine.start() }
        pool.start()
        inTurn { destination in
            #expect((try? destination.open(from: Cursor(position: 0))) == .some(nil))
        }
    }

    private func workOff() {
        destination.resume()
        let work = work.withLock { work in
            defer { work = [] }
            return work
        }
        for one in work { one(destination) }
    }

    func inTurn(_ body: @escaping @Sendable (HTTPDestination) -> Void) {
        work.withLock { $0.append(body) }
        place.wake()
    }

    /// Offers a batch. The settlement arrives later.
    func offer(_ batch: OutboundBatch) -> Settled {
        let settled = Settled()
        inTurn { destination in destination.deliver(batch, DeliveryClaim { settled.put($0) }) }
        return settled
    }

    /// Offers a batch and waits for its settlement.
    func deliver(_ batch: OutboundBatch) throws -> DeliveryClaim.Settlement {
        try offer(batch).wait()
    }

    /// As `deliver`, for formats that settle a batch as a whole.
    func outcome(of batch: OutboundBatch) throws -> Outcome {
        guard case .all(let outcome) = try deliver(batch) else { throw Unsettled() }
        return outcome
    }

    func stop() {
        stopEngine()
        pool.stop(by: SystemClock().now() + Self.patience)
    }

    /// Stops the engine. The destination stays open.
    func stopEngine() {
        engine.stop()
    }

    struct Unsettled: Error {}

    /// The settlement of one batch.
    final class Settled: Sendable {
        private let settlements = Mutex<[DeliveryClaim.Settlement]>([])
        private let bell = Doorbell()

        func put(_ settlement: DeliveryClaim.Settlement) {
            settlements.withLock { $0.append(settlement) }
            bell.ring()
        }

        func wait() throws -> DeliveryClaim.Settlement {
            let deadline = SystemClock().now() + HTTPHarness.patience
            while settlements.withLock({ $0.isEmpty }) {
                guard bell.wait(until: deadline) else { throw Unsettled() }
            }
            let all = settlements.withLock { $0 }
            #expect(all.count == 1, "a batch is settled exactly once")
            return all[0]
        }

        var isSettled: Bool { settlements.withLock { !$0.isEmpty } }
    }
}

/// A batch of events with these JSON texts, at positions from 0.
func outbound(_ events: [String]) -> OutboundBatch {
    var batch = OutboundBatch()
    for (position, json) in events.enumerated() {
        let start = batch.payload.count
        batch.payload += Array(json.utf8)
        batch.events.append(
            OutboundEvent(
                position: UInt64(position), receivedAt: 0, kind: .track, payload: start..<batch.payload.count,
                messageID: start..<start))
        batch.payload.append(UInt8(ascii: "\n"))
    }
    return batch
}

/// Waits until `condition` holds.
func eventually(_ condition: () -> Bool) -> Bool {
    let deadline = SystemClock().now() + HTTPHarness.patience
    let pause = Doorbell()
    while !condition() {
        if SystemClock().now() > deadline { return false }
        pause.wait(until: SystemClock().now() + .milliseconds(2))
    }
    return true
}
