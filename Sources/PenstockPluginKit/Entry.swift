import CPenstockPlugin
import Glibc
import Synchronization

/// What `penstock_plugin_entry` returns for a sink.
/// - Parameter major: the host's major version, the entry's first argument.
public func entry<S: BlockingSink>(to sink: S.Type, _ major: UInt32) -> UnsafePointer<penstock_plugin>? {
    unsafe Registration.table(S.plugin, major) { json, host throws in
        BlockingInstance(try S(settings: decode(json), host: host), host)
    }
}

/// What `penstock_plugin_entry` returns for a sink.
/// - Parameter major: the host's major version, the entry's first argument.
public func entry<S: AsyncSink>(to sink: S.Type, _ major: UInt32) -> UnsafePointer<penstock_plugin>? {
    unsafe Registration.table(S.plugin, major) { json, host throws in
        AsyncInstance(try S(settings: decode(json), host: host), host)
    }
}

/// What `penstock_plugin_entry` returns for a sink.
/// - Parameter major: the host's major version, the entry's first argument.
public func entry<S: SettlingSink>(to sink: S.Type, _ major: UInt32) -> UnsafePointer<penstock_plugin>? {
    unsafe Registration.table(S.plugin, major) { json, host throws in
        SettlingInstance(try S(settings: decode(json), host: host), host)
    }
}

/// The plugin of this library: its table, and what makes an instance. Created once, never freed.
@safe private struct Registration: @unchecked Sendable {
    let table: UnsafePointer<penstock_plugin>
    let position: UnsafePointer<penstock_position>
    let keepsPosition: Bool
    let make: @Sendable (String, Host) throws -> SinkInstance

    static let only = Mutex<Registration?>(nil)

    static func table(
        _ plugin: Plugin, _ major: UInt32, _ make: @escaping @Sendable (String, Host) throws -> SinkInstance
    ) -> UnsafePointer<penstock_plugin>? {
        guard major == UInt32(PENSTOCK_PLUGIN_MAJOR) else { return nil }
        return unsafe only.withLock { only in
            let registration = only ?? Registration(plugin, make)
            only = registration
            return unsafe BorrowedTable(table: registration.table)
        }.table
    }

    private init(_ plugin: Plugin, _ make: @escaping @Sendable (String, Host) throws -> SinkInstance) {
        let table = UnsafeMutablePointer<penstock_plugin>.allocate(capacity: 1)
        unsafe table.initialize(
            to: penstock_plugin(
                struct_size: UInt32(MemoryLayout<penstock_plugin>.size), abi_major: UInt16(PENSTOCK_PLUGIN_MAJOR),
                abi_minor: UInt16(PENSTOCK_PLUGIN_MINOR), name: strdup(plugin.name), version: strdup(plugin.version),
                summary: strdup(plugin.summary), settings_schema: plugin.schema.flatMap { unsafe strdup($0) },
                create: create, needs: plugin.needs.flatMap { unsafe strdup($0) }, extension: nil))
        let position = UnsafeMutablePointer<penstock_position>.allocate(capacity: 1)
        unsafe position.initialize(
            to: penstock_position(
                struct_size: UInt32(MemoryLayout<penstock_position>.size), reserved: 0, durable: durable))
        unsafe self.table = UnsafePointer(table)
        unsafe self.position = UnsafePointer(position)
        keepsPosition = plugin.keepsPosition
        self.make = make
    }
}

/// Never freed.
@safe private struct BorrowedTable: @unchecked Sendable {
    let table: UnsafePointer<penstock_plugin>
}

// File-level functions: a closure literal could be inferred as `@MainActor`, and would then abort on the host's thread.

private func create(
    _ table: UnsafePointer<penstock_host>?, _ settings: UnsafePointer<CChar>?,
    _ out: UnsafeMutablePointer<penstock_instance>?, _ error: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int32 {
    guard let table = unsafe table, let settings = unsafe settings, let out = unsafe out,
        let registration = Registration.only.withLock(\.self)
    else { return PENSTOCK_FAILED }
    return unsafe answer(error, size) {
        let instance = unsafe try registration.make(String(cString: settings), Host(table))
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
    return unsafe Registration.only.withLock(\.self).map { unsafe UnsafeRawPointer($0.position) }
}

private func durable(
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

/// Runs the body, and writes its error into the caller's buffer.
private func answer(_ error: UnsafeMutablePointer<CChar>?, _ size: Int, _ body: () throws -> Void) -> Int32 {
    do {
        try body()
        return PENSTOCK_OK
    } catch is SinkBusy {
        return PENSTOCK_BUSY
    } catch let failure {
        guard let error = unsafe error, size > 0 else { return PENSTOCK_FAILED }
        let text = "\(failure)".utf8.prefix(size - 1)
        for (index, byte) in text.enumerated() { unsafe error[index] = CChar(bitPattern: byte) }
        unsafe error[text.count] = 0
        return PENSTOCK_FAILED
    }
}
