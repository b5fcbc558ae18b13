import CPenstockPlugin
import Foundation

/// A source plugin in this process, and a host's part around it. Each offer is one commit of the journal.
///
/// The end of its last reference ends the source. `@unchecked`: its state is in `StageState`.
@safe package final class SourceStage: @unchecked Sendable {
    package struct Options: Sendable {
        package var name = "in"
        package var maxOfferEvents: UInt32 = 1000
        package var maxOfferBytes: UInt64 = 256 << 10
        /// The bytes of events that may be offered and not yet durable; above it, the host is busy.
        package var window = 4 << 20

        package init() {}
    }

    package let journal: LaneJournal
    private let shared: StageState
    /// One [worker] call at a time.
    private let worker = NSRecursiveLock()
    private let committed = DispatchSemaphore(value: 0)
    private var instance = unsafe penstock_source_instance()
    private let host = UnsafeMutablePointer<penstock_host>.allocate(capacity: 1)
    private let source = UnsafeMutablePointer<penstock_source_host>.allocate(capacity: 1)
    private var isDestroyed = false

    /// The table of a library.
    package static func load(_ path: String) throws -> UnsafePointer<penstock_plugin> {
        guard let library = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL | Int32(RTLD_NODELETE)) else {
            throw TestProblem(description: unsafe String(cString: dlerror()))
        }
        guard let symbol = unsafe dlsym(library, "penstock_plugin_entry") else {
            throw TestProblem(description: "\(path) has no entry")
        }
        let entry = unsafe unsafeBitCast(symbol, to: penstock_plugin_entry_function.self)
        guard let table = unsafe entry(1, 1) else { throw TestProblem(description: "\(path) refuses the version") }
        return unsafe table
    }

    /// Creates the instance.
    package init(
        _ plugin: UnsafePointer<penstock_plugin>, settings: String, journal: LaneJournal,
        _ configure: (inout Options) -> Void = { _ in }
    ) throws {
        var options = Options()
        configure(&options)
        shared = StageState(options)
        self.journal = journal
        unsafe host.initialize(
            to: penstock_host(
                struct_size: UInt32(MemoryLayout<penstock_host>.size), reserved: 0,
                context: Unmanaged.passUnretained(shared).toOpaque(), destination: strdup(options.name),
                journal: strdup(journal.id), complete: nil, ready: nil, log_enabled: logEnabled, log: writeLog,
                counter_add: addToCounter, gauge_set: setGauge, extension: nil))
        unsafe source.initialize(
            to: penstock_source_host(
                struct_size: UInt32(MemoryLayout<penstock_source_host>.size), max_offer_events: options.maxOfferEvents,
                max_offer_bytes: options.maxOfferBytes, offer: takeOffer, lane_opened: openLane,
                lane_closed: closeLane, problem: showProblem, fail: failInstance, lane_until: noteDeadline))
        guard let found = unsafe plugin.pointee.extension?(PENSTOCK_SOURCE) else {
            isDestroyed = true
            throw TestProblem(description: "the plugin is no source")
        }
        let table = unsafe found.assumingMemoryBound(to: penstock_source.self)
        unsafe instance.struct_size = UInt32(MemoryLayout<penstock_source_instance>.size)
        do {
            unsafe try check { unsafe table.pointee.create(host, source, settings, &instance, $0, $1) }
        } catch {
            isDestroyed = true
            throw error
        }
        // Without a reference: the end of this object ends the thread, and waits for it. The thread says that it has
        // ended when it refers to this object no more, not even for the duration of a call: the memory is free then.
        let this = unsafe StageReference(stage: Unmanaged.passUnretained(self))
        Thread { [committed] in
            this.commitOffers()
            committed.signal()
        }.start()
    }

    deinit {
        if !isDestroyed { crash() }
        unsafe free(UnsafeMutableRawPointer(mutating: host.pointee.destination))
        unsafe free(UnsafeMutableRawPointer(mutating: host.pointee.journal))
        unsafe host.deallocate()
        unsafe source.deallocate()
    }

    package var problem: String? { shared.read(\.problem) }
    /// All problems that were shown.
    package var problems: [String] { shared.read(\.problems) }
    package var failure: String? { shared.read(\.failure) }
    package var openLanes: Set<String> { shared.read(\.openLanes) }
    package var counters: [String: UInt64] { shared.read(\.counters) }
    /// Until when each lane belongs to this host, by CLOCK_MONOTONIC in nanoseconds.
    package var deadlines: [String: Int64] { shared.read(\.deadlines) }
    package var gauges: [String: Double] { shared.read(\.gauges) }
    package var log: [String] { shared.read(\.log) }
    package var offerCount: Int { shared.read(\.offers) }
    package var busyCount: Int { shared.read(\.busy) }
    /// What the source did that the contract forbids.
    package var violations: [String] { shared.read(\.violations) }

    package func connect() throws {
        unsafe try check { unsafe instance.connect?(instance.context, $0, $1) ?? PENSTOCK_OK }
    }

    /// Passes the journal's lanes on.
    package func start() throws {
        let lanes = journal.now.lanes
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe []
        defer { while let text = unsafe texts.popLast() { unsafe free(text) } }
        func string(_ bytes: [UInt8]) -> penstock_string {
            let copy = unsafe malloc(max(1, bytes.count)).assumingMemoryBound(to: CChar.self)
            for (index, byte) in bytes.enumerated() { unsafe copy[index] = CChar(bitPattern: byte) }
            unsafe texts.append(copy)
            return unsafe penstock_string(data: copy, length: bytes.count)
        }
        let list = unsafe lanes.map { name, position in
            unsafe penstock_lane(name: string(Array(name.utf8)), position: string(position))
        }
        unsafe try check {
            unsafe instance.start(
                instance.context, list, UInt32(list.count), UInt32(MemoryLayout<penstock_lane>.stride), $0, $1)
        }
    }

    /// Offers are taken, but not committed, until `release`.
    package func hold() { shared.write { $0.isHeld = true } }
    package func release() { shared.write { $0.isHeld = false } }

    /// Ends the instance in order: all offers become durable.
    package func close() {
        guard !isDestroyed else { return }
        callStop()
        let end = Date() + 30
        shared.condition.withLock {
            while !shared.state.queue.isEmpty, !shared.state.isHeld, shared.condition.wait(until: end) {}
        }
        destroy()
    }

    /// Ends the instance as if its process was killed: it is told of nothing that becomes durable.
    package func crash() {
        guard !isDestroyed else { return }
        shared.write { state in
            state.hasCrashed = true
            state.queue = []
        }
        callStop()
        destroy()
    }

    /// What `close` begins with.
    package func callStop() {
        worker.withLock { unsafe instance.stop(instance.context) }
        shared.write { $0.hasStopped = true }
    }

    private func destroy() {
        isDestroyed = true
        shared.write { $0.isEnded = true }
        committed.wait()
        worker.withLock { unsafe instance.destroy(instance.context) }
    }

    private func check(_ call: (UnsafeMutablePointer<CChar>, Int) -> Int32) throws {
        try worker.withLock {
            var error = [CChar](repeating: 0, count: 1024)
            let text = unsafe error.withUnsafeMutableBufferPointer { error -> String? in
                guard let base = error.baseAddress else { return nil }
                return unsafe call(base, error.count) == PENSTOCK_OK ? nil : String(cString: base)
            }
            if let text { throw TestProblem(description: text) }
        }
    }

    fileprivate func commitOffers() {
        while true {
            let next: (StageState.Offer, Bool)? = shared.condition.withLock {
                while shared.state.queue.isEmpty || shared.state.isHeld, !shared.state.isEnded {
                    shared.condition.wait()
                }
                guard !shared.state.isEnded else { return nil }
                let offer = shared.state.queue.removeFirst()
                shared.state.bytes -= offer.bytes
                let isReady = shared.state.wasBusy && shared.state.bytes <= shared.options.window / 2
                if isReady { shared.state.wasBusy = false }
                // The commit is part of it: a crash comes before or after both.
                return (offer, isReady)
            }
            guard let (offer, isReady) = next else { break }
            let refused = journal.commit(offer)
            worker.withLock {
                guard !shared.read(\.hasCrashed) else { return }
                tell(offer, refused)
                if isReady { unsafe instance.ready?(instance.context) }
            }
            shared.condition.withLock { shared.condition.broadcast() }
        }
    }

    private func tell(_ offer: StageState.Offer, _ refused: [Int]) {
        unsafe Self.withString(Array("not a JSON object".utf8)) { reason in
            let refusals = unsafe refused.map {
                unsafe penstock_refusal(index: UInt32($0), reserved: 0, reason: reason)
            }
            unsafe refusals.withUnsafeBufferPointer { refusals in
                unsafe Self.withString(Array(offer.lane.utf8)) { name in
                    unsafe Self.withString(offer.position) { position in
                        var durable = unsafe penstock_durable(
                            struct_size: UInt32(MemoryLayout<penstock_durable>.size),
                            refusal_count: UInt32(refusals.count), token: offer.token,
                            lane: penstock_lane(name: name, position: position), refusals: refusals.baseAddress,
                            refusal_stride: UInt32(MemoryLayout<penstock_refusal>.stride), reserved: 0)
                        unsafe instance.durable(instance.context, &durable)
                    }
                }
            }
        }
    }

    private static func withString(_ bytes: [UInt8], _ body: (penstock_string) -> Void) {
        unsafe bytes.withUnsafeBytes { bytes in
            let data = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            unsafe body(penstock_string(data: data, length: bytes.count))
        }
    }

}

/// A stage that exists.
@safe private struct StageReference: @unchecked Sendable {
    private let reference: Unmanaged<SourceStage>

    init(stage: Unmanaged<SourceStage>) { unsafe reference = stage }

    func commitOffers() { unsafe reference._withUnsafeGuaranteedRef { $0.commitOffers() } }
}

// File-level functions: a closure literal could be inferred as `@MainActor`.

private typealias HostPointer = UnsafePointer<penstock_host>?

/// Not the stage itself: a reference of a call could be its last one, and the source would be ended on its own thread,
/// which would wait for itself.
private func stage(_ host: HostPointer) -> StageState {
    guard let context = unsafe host?.pointee.context else { preconditionFailure("the plugin passed no host") }
    return unsafe Unmanaged<StageState>.fromOpaque(context).takeUnretainedValue()
}

private func takeOffer(
    _ host: HostPointer, _ offer: UnsafePointer<penstock_offer>?, _ error: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int32 {
    guard let offer = unsafe offer?.pointee else { return PENSTOCK_FAILED }
    guard let problem = unsafe stage(host).take(offer) else { return PENSTOCK_OK }
    if problem.isEmpty { return PENSTOCK_BUSY }
    if let error = unsafe error { unsafe strncpy(error, problem, size - 1) }
    return PENSTOCK_FAILED
}

private func openLane(_ host: HostPointer, _ lane: penstock_string) {
    unsafe stage(host).opened(StageState.text(lane))
}

private func closeLane(_ host: HostPointer, _ lane: penstock_string) {
    unsafe stage(host).closed(StageState.text(lane))
}

private func noteDeadline(_ host: HostPointer, _ lane: penstock_string, _ deadline: Int64) {
    unsafe stage(host).belongs(StageState.text(lane), until: deadline)
}

private func showProblem(_ host: HostPointer, _ problem: UnsafePointer<CChar>?) {
    unsafe stage(host).show(problem.map { unsafe String(cString: $0) })
}

private func failInstance(_ host: HostPointer, _ reason: UnsafePointer<CChar>?) {
    unsafe stage(host).failed(reason.map { unsafe String(cString: $0) } ?? "")
}

private func logEnabled(_ host: HostPointer, _ level: Int32) -> Int32 { level <= 6 ? 1 : 0 }

private func writeLog(
    _ host: HostPointer, _ level: Int32, _ message: UnsafePointer<CChar>?, _ fields: UnsafePointer<penstock_field>?,
    _ count: UInt32
) {
    guard let message = unsafe message else { return }
    var line = unsafe String(cString: message)
    for index in 0..<Int(count) {
        guard let field = unsafe fields?[index] else { continue }
        line += unsafe " \(String(cString: field.name))=\(String(cString: field.value))"
    }
    unsafe stage(host).note(line)
}

private func addToCounter(_ host: HostPointer, _ name: UnsafePointer<CChar>?, _ amount: UInt64) {
    if let name = unsafe name { unsafe stage(host).add(String(cString: name), amount) }
}

private func setGauge(_ host: HostPointer, _ name: UnsafePointer<CChar>?, _ value: Double) {
    if let name = unsafe name { unsafe stage(host).set(String(cString: name), value) }
}
