import CPenstockPlugin

// The functions of a source's tables. File-level functions: a closure literal could be inferred as `@MainActor`, and
// would then abort on the host's thread.

func createSource(
    _ table: UnsafePointer<penstock_host>?, _ source: UnsafePointer<penstock_source_host>?,
    _ settings: UnsafePointer<CChar>?, _ out: UnsafeMutablePointer<penstock_source_instance>?,
    _ error: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int32 {
    guard let table = unsafe table, let source = unsafe source, let settings = unsafe settings,
        let out = unsafe out, let make = Registration.current?.makeSource
    else { return PENSTOCK_FAILED }
    return unsafe answer(error, size) {
        let instance = unsafe try make(String(cString: settings), SourceHost(table, source))
        unsafe out.pointee.context = Unmanaged.passRetained(instance).toOpaque()
        unsafe out.pointee.connect = connect
        unsafe out.pointee.start = start
        unsafe out.pointee.ready = ready
        unsafe out.pointee.durable = durable
        unsafe out.pointee.stop = stop
        unsafe out.pointee.destroy = destroy
    }
}

private func connect(_ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int32 {
    unsafe answer(error, size) { unsafe try instance(context).connect() }
}

private func start(
    _ context: UnsafeMutableRawPointer?, _ lanes: UnsafePointer<penstock_lane>?, _ count: UInt32, _ stride: UInt32,
    _ error: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int32 {
    let lanes = unsafe list(lanes, count, stride) { unsafe lane($0) }
    return unsafe answer(error, size) { unsafe try instance(context).start(lanes) }
}

private func ready(_ context: UnsafeMutableRawPointer?) { unsafe instance(context).ready() }

private func durable(_ context: UnsafeMutableRawPointer?, _ durable: UnsafePointer<penstock_durable>?) {
    guard let durable = unsafe durable?.pointee else { return }
    let refusals = unsafe list(durable.refusals, durable.refusal_count, durable.refusal_stride) { refusal in
        unsafe DurableOffer.Refusal(
            index: Int(refusal.index), reason: String(decoding: refusal.reason.bytes, as: UTF8.self))
    }
    unsafe instance(context).durable(
        DurableOffer(token: durable.token, lane: lane(durable.lane), refusals: refusals))
}

private func stop(_ context: UnsafeMutableRawPointer?) { unsafe instance(context).stop() }

private func destroy(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    let instance = unsafe Unmanaged<SourceInstance>.fromOpaque(context).takeRetainedValue()
    instance.end()
}

private func instance(_ context: UnsafeMutableRawPointer?) -> SourceInstance {
    guard let context = unsafe context else { preconditionFailure("the host passed no context") }
    return unsafe Unmanaged<SourceInstance>.fromOpaque(context).takeUnretainedValue()
}

private func lane(_ lane: penstock_lane) -> Lane {
    unsafe Lane(name: String(decoding: lane.name.bytes, as: UTF8.self), position: Array(lane.position.bytes))
}

/// Reads an array of the host's, whose entries may be larger than the kit knows them.
private func list<Entry, Value>(
    _ entries: UnsafePointer<Entry>?, _ count: UInt32, _ stride: UInt32, _ read: (Entry) -> Value
) -> [Value] {
    guard let start = unsafe entries.map({ unsafe UnsafeRawPointer($0) }) else { return [] }
    return (0..<Int(count)).map { unsafe read(start.load(fromByteOffset: $0 * Int(stride), as: Entry.self)) }
}
