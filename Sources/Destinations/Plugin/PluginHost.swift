import CPenstockPlugin
import CPluginChannel
import Delivery
import Platform
import PluginHosting
import Synchronization
import Telemetry

/// The host's side of one plugin instance: what the plugin calls. Any thread.
///
/// Never freed once a plugin in this process has its `table`; it takes a few hundred bytes. A plugin that breaks the
/// contract and calls after `stop` reaches a host that ignores the call, not freed memory.
@safe final class PluginHost: @unchecked Sendable {
    let destination: String
    let journal: String
    /// Rung by the plugin's `ready`.
    let room = Doorbell()

    let reporting: PluginReporting
    private let batches = Mutex(SettlementTable<PluginBatch>())
    /// What to do when a batch passes its deadline, instead of offering its events again.
    private let overdueAction = Mutex<(@Sendable () -> Void)?>(nil)
    private let endAction = Mutex<(@Sendable () -> Void)?>(nil)
    private let tickAction = Mutex<(@Sendable (Instant) -> Void)?>(nil)
    /// How often the tick action is called.
    private static let tick = Duration.seconds(2)
    /// Of `table`; nil: no plugin in this process has it.
    private let tableAddress = Mutex<UInt?>(nil)

    init(destination: String, journal: String, telemetry: Telemetry, minimum: Level, passesOutput: Bool = true) {
        self.destination = destination
        reporting = PluginReporting(
            owner: destination, telemetry: telemetry, minimum: minimum, passesOutput: passesOutput)
        self.journal = journal
    }

    /// The struct for a plugin in this process. Constant, and never freed.
    var table: UnsafePointer<penstock_host> {
        let address = tableAddress.withLock { address in
            if address == nil { address = unsafe UInt(bitPattern: makeTable()) }
            return address
        }
        guard let table = unsafe address.flatMap({ unsafe UnsafePointer<penstock_host>(bitPattern: $0) }) else {
            preconditionFailure("memory at address 0")
        }
        return unsafe table
    }

    private func makeTable() -> UnsafePointer<penstock_host> {
        let table = UnsafeMutablePointer<penstock_host>.allocate(capacity: 1)
        unsafe table.initialize(
            to: penstock_host(
                struct_size: UInt32(MemoryLayout<penstock_host>.size), reserved: 0,
                context: Unmanaged.passRetained(self).toOpaque(), destination: immortalCString(destination),
                journal: immortalCString(journal), complete: hostComplete, ready: hostReady,
                log_enabled: hostLogEnabled, log: hostLog, counter_add: hostCounterAdd, gauge_set: hostGaugeSet,
                extension: hostExtension))
        return unsafe UnsafePointer(table)
    }

    var overdue: Int { batches.withLock { $0.overdue } }

    /// Adds a batch. Call it before the offer, because the plugin may complete the batch inside `deliver`.
    /// - Returns: the batch's token, and whether this is the first deadline to watch.
    func add(_ batch: PluginBatch, deadline: Instant) -> (token: UInt64, first: Bool) {
        batches.withLock { batches in
            let first = batches.nextDeadline == nil
            return (batches.add(batch, deadline: deadline), first)
        }
    }

    /// Takes back a batch that the plugin declined.
    /// - Returns: whether the host may still offer or settle it.
    func withdraw(_ token: UInt64) -> Bool { batches.withLock { $0.withdraw(token) } }

    /// Whether the plugin holds the batch: it was offered, and neither settled nor declined.
    func holds(_ token: UInt64) -> Bool { batches.withLock { $0.holds(token) } }

    /// Sets what to do when a batch passes its deadline, instead of offering its events again.
    func onOverdue(_ action: @escaping @Sendable () -> Void) { overdueAction.withLock { $0 = action } }

    /// Sets what to do every two seconds, with or without batches.
    func onTick(_ action: @escaping @Sendable (Instant) -> Void) { tickAction.withLock { $0 = action } }

    /// Sets what to do when the plugin's process has ended.
    func onEnd(_ action: @escaping @Sendable () -> Void) { endAction.withLock { $0 = action } }

    /// Takes the events away from batches whose deadline has passed, or ends the process that holds them.
    /// - Returns: when to call it again; nil: after the next `add`.
    func expire(_ now: Instant) -> Instant? {
        let (expired, overdue, next) = batches.withLock { batches in
            (batches.expire(now), batches.overdue, batches.nextDeadline)
        }
        let action = overdueAction.withLock(\.self)
        for (token, batch) in expired {
            emit(
                PluginDeadlinePassed(destination: destination, token: token, events: batch.count, overdue: overdue))
            guard action == nil else { continue }
            batch.settle(.all(.retry(reason: "the plugin did not settle the batch before its deadline")))
        }
        if !expired.isEmpty { action?() }
        guard let tickAction = tickAction.withLock(\.self) else { return next }
        tickAction(now)
        return min(next ?? now + Self.tick, now + Self.tick)
    }

    /// Drops the batches that the stopped plugin still holds, which settles them as retry.
    func close() { batches.withLock { $0.removeAll() } }

    func emit(_ event: some NamedEvent) { reporting.emit(event) }

    // MARK: - What the plugin calls

    /// - Parameter read: reads the outcomes of a batch with this many events.
    private func complete(_ token: UInt64, _ read: (Int) -> PluginOutcomes) {
        // The batch lives until the end of this function, so its memory is valid until `complete` returns, as promised.
        switch batches.withLock({ $0.complete(token) }) {
        case .settled(let batch):
            let read = read(batch.count)
            if let problem = read.problem {
                emit(PluginOutcomesUnreadable(destination: destination, token: token, problem: problem))
            }
            batch.settle(read.settlement)
            extendLifetime(batch)
        case .late(let batch):
            emit(PluginSettlementLate(destination: destination, token: token))
            extendLifetime(batch)
        case .repeated: emit(PluginSettlementRepeated(destination: destination, token: token))
        case .unknown: emit(PluginSettlementUnknown(destination: destination, token: token))
        }
    }

    fileprivate func log(
        _ level: Int32, _ message: UnsafePointer<CChar>?, _ fields: UnsafePointer<penstock_field>?, _ count: UInt32
    ) {
        var text = unsafe boundedString(message, 1024) ?? ""
        if let fields = unsafe fields {
            for index in 0..<Int(min(count, 16)) {
                guard let name = unsafe boundedString(fields[index].name, 64),
                    let value = unsafe boundedString(fields[index].value, 256)
                else { continue }
                text += " \(name)=\(value)"
            }
        }
        reporting.log(level, text)
    }

    fileprivate func add(_ amount: UInt64, to name: UnsafePointer<CChar>?) {
        reporting.add(amount, to: unsafe boundedString(name, PluginMetrics.nameLimit + 1) ?? "")
    }

    fileprivate func set(_ name: UnsafePointer<CChar>?, to value: Double) {
        reporting.set(unsafe boundedString(name, PluginMetrics.nameLimit + 1) ?? "", to: value)
    }

    fileprivate func complete(
        _ token: UInt64, _ outcomes: UnsafePointer<penstock_outcome>?, _ count: UInt32, _ stride: UInt32
    ) {
        complete(token) { events in
            unsafe PluginOutcomes(outcomes, count: count, stride: stride, events: events)
        }
    }

    fileprivate static func of(_ host: UnsafePointer<penstock_host>?) -> PluginHost? {
        guard let context = unsafe host?.pointee.context else { return nil }
        return unsafe Unmanaged<PluginHost>.fromOpaque(context).takeUnretainedValue()
    }
}

// The same calls, from a plugin's own process.
extension PluginHost: PluginMessageReceiver {
    func longestMessage(_ type: plugin_channel_type) -> Int? {
        switch type {
        case PLUGIN_COMPLETE: Int(PLUGIN_CHANNEL_LIMIT)
        case PLUGIN_READY: 0
        default: nil
        }
    }

    func receive(_ type: plugin_channel_type, token: UInt64, _ body: [UInt8]) -> Bool {
        switch type {
        case PLUGIN_COMPLETE:
            guard let completion = PluginCompletion(body) else { return false }
            complete(token) { PluginOutcomes(completion, events: $0) }
        case PLUGIN_READY: room.ring()
        default: return false
        }
        return true
    }

    /// Its batches stay until `close`: the worker opens the destination again, and offers all events since the cursor.
    func processEnded() {
        room.ring()
        endAction.withLock(\.self)?()
    }
}

/// A copy that is never freed, for strings that live as long as a host.
private func immortalCString(_ text: String) -> UnsafePointer<CChar> {
    let bytes = text.utf8CString
    let memory = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
    for (index, byte) in bytes.enumerated() { unsafe (memory + index).initialize(to: byte) }
    return unsafe UnsafePointer(memory)
}

// The C functions. They are at file level because a closure literal could be inferred as `@MainActor`, and would then
// abort on a plugin's own thread.

private func hostComplete(
    _ host: UnsafePointer<penstock_host>?, _ token: UInt64, _ outcomes: UnsafePointer<penstock_outcome>?,
    _ count: UInt32, _ stride: UInt32
) {
    unsafe PluginHost.of(host)?.complete(token, outcomes, count, stride)
}

private func hostReady(_ host: UnsafePointer<penstock_host>?) {
    unsafe PluginHost.of(host)?.room.ring()
}

private func hostLogEnabled(_ host: UnsafePointer<penstock_host>?, _ level: Int32) -> Int32 {
    unsafe PluginHost.of(host)?.reporting.isLogged(level) == true ? 1 : 0
}

private func hostLog(
    _ host: UnsafePointer<penstock_host>?, _ level: Int32, _ message: UnsafePointer<CChar>?,
    _ fields: UnsafePointer<penstock_field>?, _ count: UInt32
) {
    unsafe PluginHost.of(host)?.log(level, message, fields, count)
}

private func hostCounterAdd(_ host: UnsafePointer<penstock_host>?, _ name: UnsafePointer<CChar>?, _ amount: UInt64) {
    unsafe PluginHost.of(host)?.add(amount, to: name)
}

private func hostGaugeSet(_ host: UnsafePointer<penstock_host>?, _ name: UnsafePointer<CChar>?, _ value: Double) {
    unsafe PluginHost.of(host)?.set(name, to: value)
}

/// The host has no extensions yet. A plugin must work without the ones it asks for.
private func hostExtension(_ host: UnsafePointer<penstock_host>?, _ id: UnsafePointer<CChar>?) -> UnsafeRawPointer? {
    nil
}
