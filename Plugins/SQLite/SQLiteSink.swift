import CPenstockPlugin
import CSQLite
import Glibc

/// One instance of the plugin. All work happens on the host's worker, inside its calls.
@safe final class SQLiteSink {
    private let host: UnsafePointer<penstock_host>
    private let settings: SQLiteSettings
    private let destination: String
    private let journal: String
    /// nil: not open.
    private var table: EventTable?

    init(_ host: UnsafePointer<penstock_host>, settings: String) throws(SinkError) {
        unsafe self.host = host
        self.settings = try SQLiteSettings(json: settings)
        destination = unsafe host.pointee.destination.map { unsafe String(cString: $0) } ?? ""
        journal = unsafe host.pointee.journal.map { unsafe String(cString: $0) } ?? ""
    }

    /// - Throws: an error for the operator.
    func connect() throws(SinkError) {
        table = nil
        makeDirectories()
        do throws(SQLiteError) {
            table = try EventTable(settings, destination: destination, journal: journal)
        } catch {
            throw SinkError(message: "\(settings.path): \(error.message)")
        }
    }

    /// Writes the batch and settles it.
    /// - Throws: if no event was taken and the database must be opened again.
    func deliver(_ batch: UnsafePointer<penstock_batch>) throws(SinkError) {
        guard let table else { throw SinkError(message: "\(settings.path) is not open") }
        let count = unsafe Int(batch.pointee.count)
        var outcomes = unsafe [penstock_outcome](
            repeating: penstock_outcome(status: PENSTOCK_DELIVERED, retry_after_ms: 0, reason: nil), count: count)
        var reasons: [UnsafeMutablePointer<CChar>?] = unsafe []
        defer { while let reason = unsafe reasons.popLast() { unsafe free(reason) } }
        do throws(SQLiteError) {
            let committed = unsafe try table.write(batch) { committed in unsafe position(after: batch, committed) }
            for (index, reason) in committed.rejected {
                let text = unsafe strdup(reason)
                unsafe reasons.append(text)
                unsafe outcomes[index] = penstock_outcome(
                    status: PENSTOCK_REJECTED, retry_after_ms: 0, reason: UnsafePointer(text))
            }
            let stored = UInt64(clamping: count - committed.rejected.count)
            unsafe host.pointee.counter_add?(host, "sqlite_events", stored)
        } catch {
            guard error.passes else { throw SinkError(message: "\(settings.path): \(error.message)") }
            let text = unsafe strdup("\(settings.path): \(error.message)")
            unsafe reasons.append(text)
            unsafe outcomes = [penstock_outcome](
                repeating: penstock_outcome(status: PENSTOCK_RETRY, retry_after_ms: 0, reason: UnsafePointer(text)),
                count: count)
        }
        unsafe outcomes.withUnsafeBufferPointer { buffer in
            unsafe host.pointee.complete?(
                host, batch.pointee.token, buffer.baseAddress, UInt32(clamping: count),
                UInt32(MemoryLayout<penstock_outcome>.stride))
        }
    }

    func durablePosition() throws(SinkError) -> UInt64? {
        guard let table else { throw SinkError(message: "\(settings.path) is not open") }
        do throws(SQLiteError) {
            return try table.position().flatMap { UInt64(exactly: $0) }
        } catch {
            throw SinkError(message: "\(settings.path): \(error.message)")
        }
    }

    func stop() { table = nil }

    /// The new position: the last event's, but never past a rejected event. The host holds rejected events durably only
    /// once it offers the next batch.
    private func position(after batch: UnsafePointer<penstock_batch>, _ committed: EventTable.Committed) -> Int64? {
        guard let first = committed.rejected.keys.min() else {
            return Int64(exactly: unsafe batch.pointee.last_position)
        }
        guard let event = unsafe penstock_batch_event(batch, UInt32(first)), unsafe event.pointee.position > 0 else {
            return nil
        }
        return unsafe Int64(exactly: event.pointee.position - 1)
    }

    /// Ignores errors: opening the database reports them.
    private func makeDirectories() {
        var directory = ""
        for component in settings.path.split(separator: "/").dropLast() {
            directory += "/" + component
            _ = unsafe mkdir(directory, 0o750)
        }
    }
}
