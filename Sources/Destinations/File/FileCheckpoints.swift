import Delivery
import Platform

// What makes files, ledger and cursor durable, in the order that the comment at the top of
// FileDestination.swift gives.
extension FileDestination {
    /// Begins a new place in the ledger, if anything has changed.
    func markPlace() throws {
        guard isChanged || place == nil else { return }
        place = try ledger.append(files.values.map(\.record))
        isChanged = false
    }

    /// Makes everything durable, and sets the cursor to `position`: everything below is in the files, and
    /// nothing else.
    /// - Parameter rotated: files that are being renamed, by path, and their new names.
    func settle(at position: UInt64, rotated: [String: String] = [:]) throws {
        // Its cursor is not needed: this one is later.
        _ = try endBackgroundSync()
        try syncFiles()
        floor = max(floor, position)
        let isNew = place == nil || ledger.isLarge
        do {
            if isNew { try ledger.begin() }
            place = try ledger.append(
                files.values.map { file in
                    var record = file.record
                    record.rotatedName = rotated[file.path]
                    return record
                })
            try syncLedger()
            try commit(Cursor(position: floor, state: place?.encoded ?? []))
        } catch {
            // The cursor that there is knows nothing of the new ledger.
            if isNew { failure = error }
            throw error
        }
        isChanged = false
        if isNew { try ledger.removeOthers() }
    }

    /// After a failure nothing is known of the files any more: everything fails until they are opened
    /// again from the cursor.
    func syncFiles() throws {
        guard options.sync != .never else { return }
        _ = try endBackgroundSync()
        for file in files.values { try sync(file) }
    }

    func sync(_ file: OpenFile) throws {
        guard options.sync != .never else { return }
        do {
            try file.sync()
        } catch {
            failure = error
            throw error
        }
    }

    func syncLedger() throws {
        guard options.sync != .never else { return }
        do {
            try ledger.sync()
        } catch {
            failure = error
            throw error
        }
    }

    /// Has what was written so far synced while delivery goes on.
    /// - Parameter cursor: what holds once that is done.
    func beginBackgroundSync(_ syncer: FileSyncer, _ cursor: Cursor) {
        var unsynced: [any DiskFile] = []
        for file in files.values where file.isUnsynced {
            file.isUnsynced = false
            unsynced.append(file.file)
        }
        if let file = ledger.openFile { unsynced.append(file) }
        syncing = cursor
        syncer.begin(unsynced)
    }

    /// Waits for it. A failure is one of `syncFiles`.
    /// - Returns: the cursor that it was begun with; nil if there was none.
    func endBackgroundSync() throws -> Cursor? {
        guard let syncer, let cursor = syncing else { return nil }
        syncing = nil
        do {
            try syncer.wait()
            return cursor
        } catch {
            failure = error
            throw error
        }
    }
}
