import Events
import Platform
import Synchronization
import Testing

@testable import Delivery

/// The thread on which a destination writes large batches while the worker routes.
@Suite struct WritingThreadTests {
    /// Notes each call, and the thread that makes it. A write may be held up.
    private final class Recorder: Destination {
        struct Call: Equatable {
            var name: String
            var isOwnThread: Bool
        }

        let calls = Mutex<[Call]>([])
        let isBusy = Atomic(false)
        let overlaps = Atomic(0)
        let outcome = Mutex<Outcome?>(.delivered)
        let gate = Mutex(())
        private let home = WorkerThread.current

        private func note<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
            if isBusy.exchange(true, ordering: .sequentiallyConsistent) { overlaps.add(1, ordering: .relaxed) }
            defer { isBusy.store(false, ordering: .sequentiallyConsistent) }
            calls.withLock { $0.append(Call(name: name, isOwnThread: WorkerThread.current != home)) }
            return try body()
        }

        var limits: DestinationLimits { note("limits") { DestinationLimits(maximumInFlight: 1) } }
        func open(from cursor: Cursor) throws -> UInt64? { note("open") { cursor.position } }
        func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
            note("deliver \(batch.events.count)") { gate.withLock { _ in } }
            if let outcome = outcome.withLock({ $0 }) { claim.settle(.all(outcome)) }
        }
        func checkpoint() throws -> [UInt8]? { note("checkpoint") { [1] } }
        func checkpoint(settled position: UInt64) throws -> Cursor? {
            note("checkpoint") { Cursor(position: position, state: [2]) }
        }
        func close() { note("close") {} }
    }

    private func batch(_ events: Int, bytes: Int) -> OutboundBatch {
        var batch = OutboundBatch()
        batch.payload = [UInt8](repeating: 0x20, count: bytes)
        for position in 0..<UInt64(events) {
            batch.events.append(
                OutboundEvent(
                    position: position, receivedAt: 0, kind: .track, payload: 0..<bytes, messageID: 0..<0))
        }
        return batch
    }

    /// - Returns: how it was settled, once it is.
    private func deliver(_ batch: consuming OutboundBatch, to thread: WritingThread) -> DeliveryClaim.Settlement? {
        let settled = Mutex<DeliveryClaim.Settlement?>(nil)
        let bell = Doorbell()
        thread.deliver(
            batch,
            DeliveryClaim { settlement in
                settled.withLock { $0 = settlement }
                bell.ring()
            })
        bell.wait(until: SystemClock().now() + .seconds(60))
        return settled.withLock { $0 }
    }

    private func isDelivered(_ settlement: DeliveryClaim.Settlement?) -> Bool {
        if case .all(.delivered) = settlement { true } else { false }
    }

    @Test func `small batches are written at once, large ones on the other thread`() {
        let recorder = Recorder()
        let thread = WritingThread(recorder, name: "test")
        #expect(isDelivered(deliver(batch(1, bytes: 1000), to: thread)))
        #expect(isDelivered(deliver(batch(2, bytes: 256 << 10), to: thread)))
        #expect(isDelivered(deliver(batch(3, bytes: 1000), to: thread)))
        let calls = recorder.calls.withLock { $0 }
        #expect(calls.map(\.name) == ["deliver 1", "deliver 2", "deliver 3"])
        #expect(calls.map(\.isOwnThread) == [false, true, false])
    }

    @Test func `every other call waits until nothing is written`() throws {
        let recorder = Recorder()
        let thread = WritingThread(recorder, name: "test")
        let large = batch(1, bytes: 256 << 10)
        let other: [(WritingThread) throws -> Void] = [
            { _ = $0.limits }, { _ = try $0.open(from: Cursor(position: 5)) }, { _ = try $0.checkpoint() },
            { _ = try $0.checkpoint(settled: 5) }, { $0.close() },
            { thread in #expect(isDelivered(deliver(batch(1, bytes: 1), to: thread))) },
            { thread in #expect(isDelivered(deliver(large, to: thread))) },
        ]
        for call in other {
            for _ in 0..<200 {
                thread.deliver(large, DeliveryClaim { _ in })
                try call(thread)
            }
        }
        #expect(recorder.overlaps.load(ordering: .relaxed) == 0)
        let calls = recorder.calls.withLock { $0 }
        #expect(calls.count == 2 * 200 * other.count)
        #expect(calls.enumerated().allSatisfy { $0.offset % 2 == 1 || $0.element.name == "deliver 1" })
    }

    @Test func `the worker goes on while a batch is written`() {
        let recorder = Recorder()
        let thread = WritingThread(recorder, name: "test")
        let settled = Atomic(false)
        let bell = Doorbell()
        recorder.gate.withLock { _ in
            thread.deliver(
                batch(1, bytes: 1 << 20),
                DeliveryClaim { _ in
                    settled.store(true, ordering: .sequentiallyConsistent)
                    bell.ring()
                })
            let isSettled = settled.load(ordering: .sequentiallyConsistent)
            #expect(!isSettled)
        }
        #expect(bell.wait(until: SystemClock().now() + .seconds(60)))
    }

    @Test func `the batch is nobody else's when it is settled, so that its memory can be used again`() {
        let thread = WritingThread(Recorder(), name: "test")
        var mine = batch(1, bytes: 1 << 20)
        let address = unsafe mine.payload.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        for _ in 0..<100 {
            #expect(isDelivered(deliver(mine, to: thread)))
            mine.payload.removeAll(keepingCapacity: true)
            mine.payload.append(contentsOf: repeatElement(1, count: 1 << 20))
            let now = unsafe mine.payload.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            #expect(now == address)
        }
    }

    @Test func `an outcome is passed on, and none means to retry`() {
        let recorder = Recorder()
        let thread = WritingThread(recorder, name: "test")
        recorder.outcome.withLock { $0 = .rejected(reason: "no") }
        for bytes in [10, 1 << 20] {
            guard case .all(.rejected("no", _)) = deliver(batch(1, bytes: bytes), to: thread) else {
                Issue.record("not rejected")
                continue
            }
        }
        recorder.outcome.withLock { $0 = nil }
        for bytes in [10, 1 << 20] {
            guard case .all(.retry) = deliver(batch(1, bytes: bytes), to: thread) else {
                Issue.record("not retried")
                continue
            }
        }
    }
}
