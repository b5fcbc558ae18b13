import CPenstockPlugin
import Delivery
import Platform
import Synchronization
import Telemetry

/// What one instance of a plugin can ask of us: the `penstock_host` that it is given, and what
/// stands behind it. Any thread.
///
/// Never freed, a few hundred bytes a destination: a plugin that breaks its word and calls after
/// `stop` finds a host that ignores it, not somebody else's memory.
@safe final class PluginHost: @unchecked Sendable {
    let destination: String
    /// The C side, constant once `init` is done.
    let table: UnsafePointer<penstock_host>
    /// Rung by the plugin's `ready`.
    let room = Doorbell()

    private let telemetry: Telemetry
    private let minimum: Level
    private let batches = Mutex(SettlementTable<PluginBatch>())
    private let ownMetrics = Mutex(PluginMetrics())

    init(destination: String, journal: String, telemetry: Telemetry, minimum: Level) {
        self.destination = destination
        self.telemetry = telemetry
        self.minimum = minimum
        let memory = UnsafeMutablePointer<penstock_host>.allocate(capacity: 1)
        unsafe memory.initialize(to: penstock_host())
        unsafe table = UnsafePointer(memory)
        unsafe memory.pointee = penstock_host(
            struct_size: UInt32(MemoryLayout<penstock_host>.size), reserved: 0,
            context: Unmanaged.passRetained(self).toOpaque(), destination: immortalCString(destination),
            journal: immortalCString(journal), complete: hostComplete, ready: hostReady,
            log_enabled: hostLogEnabled, log: hostLog, counter_add: hostCounterAdd, gauge_set: hostGaugeSet,
            extension: hostExtension)
    }

    var metrics: PluginMetrics { ownMetrics.withLock { $0 } }
    var overdue: Int { batches.withLock { $0.overdue } }

    /// Before the batch is offered: it may be completed from inside `deliver`.
    /// - Returns: its token, and whether somebody has to begin to watch the deadlines.
    func add(_ batch: PluginBatch, deadline: Instant) -> (token: UInt64, first: Bool) {
        batches.withLock { batches in
            let first = batches.nextDeadline == nil
            return (batches.add(batch, deadline: deadline), first)
        }
    }

    /// The plugin declined it.
    /// - Returns: whether it is still ours to offer again or to settle.
    func withdraw(_ token: UInt64) -> Bool { batches.withLock { $0.withdraw(token) } }

    /// Takes the events away from batches whose deadline has come.
    /// - Returns: when to come again; nil: when something was added.
    func expire(_ now: Instant) -> Instant? {
        let (expired, overdue, next) = batches.withLock { batches in
            (batches.expire(now), batches.overdue, batches.nextDeadline)
        }
        for (token, batch) in expired {
            telemetry.emit(
                PluginDeadlinePassed(destination: destination, token: token, events: batch.count, overdue: overdue))
            batch.settle(.all(.retry(reason: "the plugin did not settle the batch before its deadline")))
        }
        return next
    }

    /// The plugin has stopped: what it still held is dropped, which settles it as retry.
    func close() { batches.withLock { $0.removeAll() } }

    func emit(_ event: some NamedEvent) { telemetry.emit(event) }

    // MARK: - What the plugin calls

    fileprivate func complete(
        _ token: UInt64, _ outcomes: UnsafePointer<penstock_outcome>?, _ count: UInt32, _ stride: UInt32
    ) {
        // The batch lives until the end of this function, so its memory is valid until `complete`
        // returns, as promised.
        switch batches.withLock({ $0.complete(token) }) {
        case .settled(let batch):
            let read = unsafe PluginOutcomes(outcomes, count: count, stride: stride, events: batch.count)
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

    fileprivate func isLogged(_ level: Int32) -> Bool { Self.level(level) >= minimum }

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
        // One line stays one line, and a terminal is not told what to do.
        let clean = String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
        emit(PluginLogLine(level: Self.level(level), destination: destination, text: clean))
    }

    fileprivate func add(_ amount: UInt64, to name: UnsafePointer<CChar>?) {
        let name = unsafe boundedString(name, PluginMetrics.nameLimit + 1) ?? ""
        if !ownMetrics.withLock({ $0.add(amount, to: name) }) {
            emit(PluginMetricRefused(destination: destination, metric: name))
        }
    }

    fileprivate func set(_ name: UnsafePointer<CChar>?, to value: Double) {
        let name = unsafe boundedString(name, PluginMetrics.nameLimit + 1) ?? ""
        if !ownMetrics.withLock({ $0.set(name, to: value) }) {
            emit(PluginMetricRefused(destination: destination, metric: name))
        }
    }

    private static func level(_ number: Int32) -> Level {
        Level(rawValue: Int(min(max(number, PENSTOCK_LOG_ERROR), PENSTOCK_LOG_DEBUG))) ?? .info
    }

    fileprivate static func of(_ host: UnsafePointer<penstock_host>?) -> PluginHost? {
        guard let context = unsafe host?.pointee.context else { return nil }
        return unsafe Unmanaged<PluginHost>.fromOpaque(context).takeUnretainedValue()
    }
}

/// A copy that is never freed, for strings that live as long as a host.
private func immortalCString(_ text: String) -> UnsafePointer<CChar> {
    let bytes = text.utf8CString
    let memory = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
    for (index, byte) in bytes.enumerated() { unsafe (memory + index).initialize(to: byte) }
    return unsafe UnsafePointer(memory)
}

// The C side. File-level functions: a closure literal could be inferred to belong to the main
// actor, and would abort on a plugin's own thread.

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
    unsafe PluginHost.of(host)?.isLogged(level) == true ? 1 : 0
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

/// There are no extensions of the host's yet: a plugin that asks for one does without.
private func hostExtension(_ host: UnsafePointer<penstock_host>?, _ id: UnsafePointer<CChar>?) -> UnsafeRawPointer? {
    nil
}
