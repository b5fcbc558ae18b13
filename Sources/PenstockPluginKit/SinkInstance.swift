import Dispatch
import Synchronization

/// One sink, whatever its kind: what the C functions call.
class SinkInstance {
    let host: Host

    init(host: Host) { self.host = host }

    var limits: Limits { preconditionFailure("abstract") }
    func connect() throws {}
    func deliver(_ batch: Batch) throws {}
    func flush() throws {}
    func durablePosition() throws -> UInt64? { nil }
    func stop() {}
}

/// What all kinds have in common.
class KindInstance<S: Sink>: SinkInstance {
    let sink: S

    init(_ sink: S, _ host: Host) {
        self.sink = sink
        super.init(host: host)
    }

    override var limits: Limits { sink.limits }
    override func connect() throws { try sink.connect() }
    override func flush() throws { try sink.flush() }
    override func durablePosition() throws -> UInt64? { try sink.durablePosition() }
    override func stop() { sink.stop() }
}

final class BlockingInstance<S: BlockingSink>: KindInstance<S> {
    override func deliver(_ batch: Batch) throws { batch.settle(try sink.deliver(batch)) }
}

final class SettlingInstance<S: SettlingSink>: KindInstance<S> {
    override func deliver(_ batch: Batch) throws { try sink.deliver(batch) }
}

final class AsyncInstance<S: AsyncSink>: KindInstance<S>, @unchecked Sendable {
    private struct Running {
        var next = 0
        var tasks: [Int: Task<Void, Never>] = [:]
        var isStopped = false
    }

    private let running = Mutex(Running())
    private let group = DispatchGroup()

    override func deliver(_ batch: Batch) throws {
        let sink = sink
        try running.withLock { running in
            guard !running.isStopped else { throw SinkBusy() }
            let number = running.next
            running.next += 1
            group.enter()
            running.tasks[number] = Task {
                do {
                    batch.settle(try await sink.deliver(batch))
                } catch is SinkBusy {
                    batch.settle(.retry(reason: "the sink is busy"))
                } catch {
                    batch.settle(.retry(reason: "\(error)"))
                }
                ended(number)
            }
        }
    }

    /// A task may end before `deliver` has noted it, but not before it has the lock.
    private func ended(_ number: Int) {
        _ = running.withLock { $0.tasks.removeValue(forKey: number) }
        group.leave()
    }

    override func stop() {
        let tasks = running.withLock { running in
            running.isStopped = true
            return Array(running.tasks.values)
        }
        for task in tasks { task.cancel() }
        group.wait()
        sink.stop()
    }
}
