import CPenstockPlugin
import Delivery
import Events
import Platform
import PluginHosting
import Telemetry

@testable import Destinations

/// The daemon's side of a sink: batches that the process settles, or does not.
///
/// Each event is settled exactly once, with the outcome that the process sent for it and in no other case as delivered.
/// What it has not settled in time is offered again.
final class SinkSide {
    /// The settlements of one batch. Called on one thread.
    private final class Answer: @unchecked Sendable {
        var settlements: [DeliveryClaim.Settlement] = []
    }

    private struct Batch {
        var token: UInt64
        /// Those that the process sees, behind the held ones.
        var events: Int
        var held: Int
        var answer: Answer
        /// nil: not settled by the process.
        var outcomes: [Outcome]?
        /// The process may not settle it any more.
        var isGone = false
    }

    private var batches: [Batch] = []
    private var now: Int64 = 0

    func run(_ script: FrameScript, pieces: Int) -> [String] {
        let side = PluginSide(.sink, pieces: pieces)
        let host = PluginHost(
            destination: "warehouse", journal: "journal", telemetry: side.telemetry, minimum: .debug,
            passesOutput: false)
        side.connect(host)
        for step in script.steps {
            switch step {
            case .send(let bytes): side.send(bytes, takes)
            case .print(let bytes): side.print(bytes, host)
            case .request(let isLoad): side.request(isLoad: isLoad)
            case .act(let bytes): act(bytes, host)
            }
        }
        host.processEnded()
        host.close()
        return side.finish(host) + batches.flatMap { result($0).map(Self.words) }
    }

    // MARK: What the daemon does

    private func act(_ bytes: [UInt8], _ host: PluginHost) {
        let argument = Int(bytes.dropFirst().first ?? 0)
        switch bytes.first ?? 0 {
        case 0: offer(argument, address: bytes.dropFirst(2), host)
        // The process answers BUSY or FAILED.
        case 1:
            guard !batches.isEmpty else { return }
            let index = argument % batches.count
            let token = batches[index].token
            let isOurs = host.withdraw(token)
            require(isOurs == (!batches[index].isGone && batches[index].outcomes == nil), "withdrawn twice")
            require(!host.holds(token), "a withdrawn batch is held")
            batches[index].isGone = true
        case 2:
            now += Int64(argument)
            _ = host.expire(Instant(nanoseconds: now))
            for index in batches.indices where batches[index].outcomes == nil && deadline(index) <= now {
                batches[index].isGone = true
            }
        default: host.onOverdue {}
        }
    }

    /// The deadline of the batch with this index.
    private func deadline(_ index: Int) -> Int64 { Int64(index + 1) * 50 }

    private func offer(_ argument: Int, address: ArraySlice<UInt8>, _ host: PluginHost) {
        guard batches.count < 64 else { return }
        let count = 1 + argument % 8
        let held = (argument >> 3) % count
        let answer = Answer()
        var outbound = OutboundBatch()
        for number in 0..<count {
            let start = outbound.payload.count
            outbound.payload += Array(#"{"messageId":"m\#(number)"}"#.utf8)
            outbound.events.append(
                OutboundEvent(
                    position: UInt64(number), receivedAt: 0, kind: .track, payload: start..<outbound.payload.count,
                    messageID: start + 14..<outbound.payload.count - 2))
            outbound.payload.append(0x0A)
        }
        let batch = PluginBatch(outbound, held: held, DeliveryClaim { answer.settlements.append($0) })
        write(batch, at: address.reduce(0) { $0 << 8 | UInt($1) })
        let index = batches.count
        let (token, _) = host.add(batch, deadline: Instant(nanoseconds: deadline(index)))
        require(host.holds(token), "an offered batch is not held")
        batches.append(Batch(token: token, events: count - held, held: held, answer: answer))
    }

    /// Writes the batch for a process that claims to have mapped the memory at this address.
    private func write(_ batch: PluginBatch, at address: UInt) {
        let stride = unsafe MemoryLayout<penstock_event>.stride
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: batch.sharedSize(stride: stride), alignment: 16)
        let (first, last) = unsafe batch.write(into: memory, mappedAt: address, stride: stride)
        require(last - first + 1 == UInt64(batch.count), "positions \(first) to \(last)")
        unsafe memory.deallocate()
    }

    // MARK: What the process does

    private func takes(_ message: ChannelModel.Message) -> Bool {
        guard message.type == 33 else { return message.type == 34 }
        guard let completion = modelledOutcomes(message.body) else { return false }
        guard let index = batches.firstIndex(where: { $0.token == message.token }), !batches[index].isGone,
            batches[index].outcomes == nil
        else { return true }
        let events = batches[index].events
        var outcomes = Array(repeating: Self.unsettled, count: events)
        let wanted = min(completion.count, events)
        if let given = completion.given, given.count >= wanted {
            for number in 0..<wanted { outcomes[number] = Self.outcome(given[number]) }
        }
        batches[index].outcomes = outcomes
        return true
    }

    private static let unsettled = Outcome.retry(reason: "the plugin reported no outcome for the event")

    private static func outcome(_ given: (status: Int32, after: UInt32, reason: [UInt8])) -> Outcome {
        let reason = String(decoding: given.reason, as: UTF8.self)
        switch given.status {
        case 1: return .delivered
        case 2:
            return .retry(
                reason: reason.isEmpty ? "the plugin asked for a retry" : reason,
                after: given.after == 0 ? nil : .milliseconds(Int64(given.after)))
        case 3: return .rejected(reason: reason.isEmpty ? "the plugin rejected the event" : reason)
        default: return unsettled
        }
    }

    // MARK: The end

    /// Quicker than a description by reflection.
    private static func words(_ outcome: Outcome) -> String {
        switch outcome {
        case .delivered: "delivered"
        case .retry(let reason, let after, _): "retry \(reason) \(after?.components.seconds ?? 0)"
        case .rejected(let reason, _): "rejected \(reason)"
        case .tooLarge(let reason, _), .someRejected(let reason, _),
            .hold(let reason, _):
            "no answer of a plugin: \(reason)"
        }
    }

    private func result(_ batch: Batch) -> [Outcome] {
        let settlements = batch.answer.settlements
        require(settlements.count == 1, "batch \(batch.token) is settled \(settlements.count) times")
        let count = batch.held + batch.events
        let outcomes =
            switch settlements[0] {
            case .all(let outcome): Array(repeating: outcome, count: count)
            case .each(let outcomes): outcomes
            }
        require(outcomes.count == count, "\(outcomes.count) outcomes for \(count) events")
        if let expected = batch.outcomes {
            let held = Array(repeating: Outcome.delivered, count: batch.held)
            require(outcomes == held + expected, "batch \(batch.token): \(outcomes) instead of \(expected)")
        } else {
            // A claim that is dropped offers the held events again, too.
            for outcome in outcomes.dropFirst(batch.held) {
                guard case .retry = outcome else { fatalError("\(outcome) for a batch that was not settled") }
            }
        }
        return outcomes
    }
}
