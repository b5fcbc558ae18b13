import Glibc
import PenstockPluginKit

/// One instance of the plugin. All work happens on the host's worker, inside its calls.
final class SQLiteSink: BlockingSink {
    static let plugin = Plugin(
        name: "sqlite", version: "1.1", summary: "Writes each event to a row of an SQLite table, exactly once",
        schema: SQLiteSettings.schema, needs: "", keepsPosition: true)

    private let host: Host
    private let settings: SQLiteSettings
    /// nil: not open.
    private var table: EventTable?

    init(settings: SQLiteSettings, host: Host) throws {
        try settings.validate()
        self.host = host
        self.settings = settings
    }

    func connect() throws {
        table = nil
        makeDirectories()
        do throws(SQLiteError) {
            table = try EventTable(settings, destination: host.destination, journal: host.journal)
        } catch {
            throw SinkError("\(settings.path): \(error.message)")
        }
    }

    func deliver(_ batch: Batch) throws -> [Outcome] {
        guard let table else { throw SinkError("\(settings.path) is not open") }
        do throws(SQLiteError) {
            let committed = try table.write(batch) { committed in position(after: batch, committed) }
            host.count("sqlite_events", by: UInt64(clamping: batch.count - committed.rejected.count))
            return batch.indices.map { index in
                committed.rejected[index].map { .rejected(reason: $0) } ?? .delivered
            }
        } catch {
            let reason = "\(settings.path): \(error.message)"
            guard error.passes else { throw SinkError(reason) }
            return batch.map { _ in .retry(reason: reason) }
        }
    }

    func durablePosition() throws -> UInt64? {
        guard let table else { throw SinkError("\(settings.path) is not open") }
        do throws(SQLiteError) {
            return try table.position().flatMap { UInt64(exactly: $0) }
        } catch {
            throw SinkError("\(settings.path): \(error.message)")
        }
    }

    func stop() { table = nil }

    /// The new position: the last event's, but never past a rejected event. The host holds rejected events durably only
    /// once it offers the next batch.
    private func position(after batch: Batch, _ committed: EventTable.Committed) -> Int64? {
        guard let first = committed.rejected.keys.min() else { return Int64(exactly: batch.lastPosition) }
        let rejected = batch[first].position
        return rejected == 0 ? nil : Int64(exactly: rejected - 1)
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
