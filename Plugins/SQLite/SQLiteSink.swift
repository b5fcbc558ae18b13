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
            let committed = try table.write(batch) { committed in
                batch.completePosition(before: committed.rejected.keys.min()).flatMap { Int64(exactly: $0) }
            }
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

    /// Ignores errors: opening the database reports them.
    private func makeDirectories() {
        var directory = ""
        for component in settings.path.split(separator: "/").dropLast() {
            directory += "/" + component
            _ = unsafe mkdir(directory, 0o750)
        }
    }
}
