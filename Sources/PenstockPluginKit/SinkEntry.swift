import CPenstockPlugin
import Glibc

// The functions of a sink's tables. File-level functions: a closure literal could be inferred as `@MainActor`, and
// would then abort on the host's thread.

func createSink(
    _ table: UnsafePointer<penstock_host>?, _ settings: UnsafePointer<CChar>?,
    _ out: UnsafeMutablePointer<penstock_instance>?, _ error: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int32 {
    guard let table = unsafe table, let settings = unsafe settings, let out = unsafe out,
        let registration = Registration.current, let make = registration.makeSink
    else { return PENSTOCK_FAILED }
    return unsafe answer(error, size) {
        let instance = unsafe try make(String(cString: settings), Host(table))
        unsafe out.pointee.max_in_flight = UInt32(clamping: instance.limits.maxInFlight)
        unsafe out.pointee.max_batch_events = UInt32(clamping: instance.limits.maxBatchEvents ?? 0)
        unsafe out.pointee.max_batch_bytes = UInt64(clamping: instance.limits.maxBatchBytes ?? 0)
        unsafe out.pointee.context = Unmanaged.passRetained(instance).toOpaque()
        unsafe out.pointee.connect = connect
        unsafe out.pointee.deliver = deliver
        unsafe out.pointee.flush = flush
        unsafe out.pointee.stop = stop
        unsafe out.pointee.destroy = destroy
        if registration.keepsPosition { unsafe out.pointee.extension = findExtension }
    }
}

private func connect(_ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int32 {
    unsafe answer(error, size) { unsafe try instance(context).connect() }
}

private func deliver(
    _ context: UnsafeMutableRawPointer?, _ batch: UnsafePointer<penstock_batch>?,
    _ error: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int32 {
    guard let batch = unsafe batch else { return PENSTOCK_FAILED }
    return unsafe answer(error, size) {
        let instance = unsafe instance(context)
        let batch = unsafe Batch(batch, instance.host)
        do {
            try instance.deliver(batch)
        } catch {
            // A batch that is not taken may not be settled.
            batch.decline()
            throw error
        }
    }
}

private func flush(_ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int32 {
    unsafe answer(error, size) { unsafe try instance(context).flush() }
}

private func stop(_ context: UnsafeMutableRawPointer?) { unsafe instance(context).stop() }

private func destroy(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<SinkInstance>.fromOpaque(context).release()
}

private func findExtension(_ context: UnsafeMutableRawPointer?, _ id: UnsafePointer<CChar>?) -> UnsafeRawPointer? {
    guard let id = unsafe id, unsafe strcmp(id, PENSTOCK_POSITION) == 0 else { return nil }
    return unsafe Registration.current.map { unsafe UnsafeRawPointer($0.position) }
}

func durablePosition(
    _ context: UnsafeMutableRawPointer?, _ position: UnsafeMutablePointer<UInt64>?,
    _ error: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int32 {
    guard let position = unsafe position else { return PENSTOCK_FAILED }
    var isStored = false
    let status = unsafe answer(error, size) {
        guard let durable = unsafe try instance(context).durablePosition() else { return }
        unsafe position.pointee = durable
        isStored = true
    }
    return status == PENSTOCK_OK && !isStored ? PENSTOCK_NONE : status
}

private func instance(_ context: UnsafeMutableRawPointer?) -> SinkInstance {
    guard let context = unsafe context else { preconditionFailure("the host passed no context") }
    return unsafe Unmanaged<SinkInstance>.fromOpaque(context).takeUnretainedValue()
}
