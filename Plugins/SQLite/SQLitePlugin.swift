// A sink plugin that writes events to a table of an SQLite database, one row per event.
//
//   destinations:
//     warehouse:
//       plugin: sqlite
//       settings: { path: /var/lib/penstock/events.db, table: events }
//
// Exactly once: rows and position are written in one transaction, and the host reads the position
// (penstock.position/1). This file holds the C functions; `SQLiteSink` is the plugin.

import CPenstockPlugin
import Glibc

/// The only symbol that a host looks for. The compiler checks it against the header.
@c @implementation
public func penstock_plugin_entry(_ hostMajor: UInt32, _ hostMinor: UInt32) -> UnsafePointer<penstock_plugin>! {
    hostMajor == UInt32(PENSTOCK_PLUGIN_MAJOR) ? unsafe Tables.shared.plugin : nil
}

/// The structs that the host reads. Created once, never freed.
@safe private struct Tables: @unchecked Sendable {
    let plugin: UnsafePointer<penstock_plugin>
    let position: UnsafePointer<penstock_position>

    static let shared = Tables()

    private init() {
        let plugin = UnsafeMutablePointer<penstock_plugin>.allocate(capacity: 1)
        unsafe plugin.initialize(
            to: penstock_plugin(
                struct_size: UInt32(MemoryLayout<penstock_plugin>.size), abi_major: UInt16(PENSTOCK_PLUGIN_MAJOR),
                abi_minor: UInt16(PENSTOCK_PLUGIN_MINOR), name: cString("sqlite"), version: cString("1.0"),
                summary: cString("Writes each event to a row of an SQLite table, exactly once"),
                settings_schema: cString(SQLiteSettings.schema), create: sqliteCreate))
        let position = UnsafeMutablePointer<penstock_position>.allocate(capacity: 1)
        unsafe position.initialize(
            to: penstock_position(
                struct_size: UInt32(MemoryLayout<penstock_position>.size), reserved: 0, durable: sqliteDurable))
        unsafe self.plugin = UnsafePointer(plugin)
        unsafe self.position = UnsafePointer(position)
    }
}

/// A literal's own bytes. They end with a NUL and are never freed.
private func cString(_ text: StaticString) -> UnsafePointer<CChar> {
    unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

// File-level functions: a closure literal could be inferred as `@MainActor`, and would then abort on the host's thread.

private func sqliteCreate(
    _ host: UnsafePointer<penstock_host>?, _ settings: UnsafePointer<CChar>?,
    _ out: UnsafeMutablePointer<penstock_instance>?,
    _ error: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int32 {
    guard let host = unsafe host, let settings = unsafe settings, let out = unsafe out else { return PENSTOCK_FAILED }
    return unsafe answer(error, size) { () throws(SinkError) in
        let sink = unsafe try SQLiteSink(host, settings: String(cString: settings))
        // One batch at a time, so that rows and position follow the journal's order.
        unsafe out.pointee.max_in_flight = 1
        unsafe out.pointee.context = Unmanaged.passRetained(sink).toOpaque()
        unsafe out.pointee.connect = sqliteConnect
        unsafe out.pointee.deliver = sqliteDeliver
        // No flush: committed rows are durable.
        unsafe out.pointee.stop = sqliteStop
        unsafe out.pointee.destroy = sqliteDestroy
        unsafe out.pointee.extension = sqliteExtension
    }
}

private func sqliteConnect(_ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<CChar>?, _ size: Int)
    -> Int32
{
    guard let sink = unsafe sink(context) else { return PENSTOCK_FAILED }
    return unsafe answer(error, size) { () throws(SinkError) in try sink.connect() }
}

private func sqliteDeliver(
    _ context: UnsafeMutableRawPointer?, _ batch: UnsafePointer<penstock_batch>?, _ error: UnsafeMutablePointer<CChar>?,
    _ size: Int
) -> Int32 {
    guard let sink = unsafe sink(context), let batch = unsafe batch else { return PENSTOCK_FAILED }
    return unsafe answer(error, size) { () throws(SinkError) in unsafe try sink.deliver(batch) }
}

private func sqliteStop(_ context: UnsafeMutableRawPointer?) {
    unsafe sink(context)?.stop()
}

private func sqliteDestroy(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<SQLiteSink>.fromOpaque(context).release()
}

private func sqliteExtension(_ context: UnsafeMutableRawPointer?, _ id: UnsafePointer<CChar>?) -> UnsafeRawPointer? {
    guard let id = unsafe id, unsafe strcmp(id, PENSTOCK_POSITION) == 0 else { return nil }
    return unsafe UnsafeRawPointer(Tables.shared.position)
}

private func sqliteDurable(
    _ context: UnsafeMutableRawPointer?, _ position: UnsafeMutablePointer<UInt64>?,
    _ error: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int32 {
    guard let sink = unsafe sink(context), let position = unsafe position else { return PENSTOCK_FAILED }
    var found = false
    let status = unsafe answer(error, size) { () throws(SinkError) in
        guard let durable = try sink.durablePosition() else { return }
        unsafe position.pointee = durable
        found = true
    }
    return status == PENSTOCK_OK && !found ? PENSTOCK_NONE : status
}

private func sink(_ context: UnsafeMutableRawPointer?) -> SQLiteSink? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<SQLiteSink>.fromOpaque(context).takeUnretainedValue()
}

/// Runs the body, and writes its error into the caller's buffer.
private func answer(
    _ error: UnsafeMutablePointer<CChar>?, _ size: Int, _ body: () throws(SinkError) -> Void
) -> Int32 {
    do throws(SinkError) {
        try body()
        return PENSTOCK_OK
    } catch let failure {
        guard let error = unsafe error, size > 0 else { return PENSTOCK_FAILED }
        let text = failure.message.utf8.prefix(size - 1)
        for (index, byte) in text.enumerated() { unsafe error[index] = CChar(bitPattern: byte) }
        unsafe error[text.count] = 0
        return PENSTOCK_FAILED
    }
}
