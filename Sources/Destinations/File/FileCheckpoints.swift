import Delivery
import Platform

// Makes files, ledger and cursor durable, in the order that the comment at the top of FileDestination.swift requires.
extension FileDestination {
    /// Begins a new place in the ledger if anything has changed.
    func markPlace() throws {
        guard isChanged || place == nil else { return }
        place = try ledger.append(files.values.map(\.record))
        isChanged = false
    }

    /// Makes everything durable and sets the cursor to `position`: the files then hold everything below it and nothing
    /// else.
    /// - Parameter rotated: the new names of files that are being renamed, by path.
    func settle(at position: UInt64, rotated: [String: String] = [:]) throws {
        // The sync's own cursor is not needed: the one below is later.
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
            // The stored cursor doesn't refer to the new ledger.
            if isNew { failure = error }
            throw error
        }
        isChanged = false
        if isNew { try ledger.removeOthers() }
    }

    /// After a failure the files' contents are unknown: every call fails until the files are opened again at the
    /// cursor.
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

    /// Starts a sync of everything written so far, while delivery continues.
    /// - Parameter cursor: the cursor that is valid once the sync has returned.
    func beginBackgroundSync(_ syncer: FileSyncer, _ cursor: Cursor) {
        var unsynced: [FileSyncer.Part] = []
        for file in files.values {
            guard let appended = file.takeUnsynced() else { continue }
            unsynced.append(FileSyncer.Part(file: file.file, appended: appended))
        }
        // It is small, and written in other places too.
        if let file = ledger.openFile { unsynced.append(FileSyncer.Part(file: file, appended: nil)) }
        syncing = cursor
        syncer.begin(unsynced)
    }

    /// Waits for the background sync. A failure has the same effect as in `syncFiles`.
    /// - Returns: the cursor that the sync was started with; nil: no sync was running.
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
