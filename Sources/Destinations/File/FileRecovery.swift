import Platform
import Telemetry

// Restores the files to their state at the cursor, after a crash or an orderly end.
extension FileDestination {
    /// Cuts off everything that was written after the cursor, and continues the files that are still in place.
    /// - Parameter state: the cursor's state.
    func recover(_ state: [UInt8]) throws {
        var isKnown = false
        if !state.isEmpty {
            let kept = try FileLedger.Place(state)
            if let records = try ledger.resume(at: kept) {
                place = kept
                isKnown = try recover(Self.fold(records))
            } else {
                telemetry.emit(FileRecordsLost(destination: name, path: ledger.path))
            }
        }
        // Without a place in the ledger, later writes could not be cut off after a crash.
        if !isKnown { try settle(at: floor) }
    }

    /// For each file the smallest length and the newest name, in the order of the first records.
    static func fold(_ records: [FileRecord]) -> [FileRecord] {
        var folded: [FileRecord] = []
        for record in records {
            let known = folded.firstIndex {
                if let a = $0.identity, let b = record.identity { a == b } else { $0.path == record.path }
            }
            guard let known else {
                folded.append(record)
                continue
            }
            // Without identities, a record that follows a rename describes another file.
            guard record.identity != nil || folded[known].rotatedName == nil || record.rotatedName != nil else {
                folded[known] = record
                continue
            }
            let length = min(folded[known].length, record.length)
            let rotatedName = record.rotatedName ?? folded[known].rotatedName
            folded[known] = record
            folded[known].length = length
            folded[known].rotatedName = rotatedName
        }
        return folded
    }

    /// - Returns: false if the ledger no longer describes the files.
    private func recover(_ records: [FileRecord]) throws -> Bool {
        var agrees = true
        for (number, record) in records.enumerated() {
            let directory = directory(of: record.path)
            if let status = try disk.status(record.path), !status.isDirectory, isSame(status, record),
                // Without identities, only the new name shows whether the rename happened.
                try record.identity != nil
                    || record.rotatedName.map({ try disk.status(directory + "/" + $0) == nil }) ?? true
            {
                if status.size < record.length {
                    telemetry.emit(FileChangedOutside(destination: name, path: record.path, change: .truncated))
                    agrees = false
                }
                try resume(record)
                continue
            }
            if let rotated = record.rotatedName, let status = try disk.status(directory + "/" + rotated),
                isSame(status, record)
            {
                try cut(directory + "/" + rotated, record)
                continue
            }
            // If a later file has the same path, its loss was noticed before.
            if !records.dropFirst(number + 1).contains(where: { $0.path == record.path }) {
                telemetry.emit(FileChangedOutside(destination: name, path: record.path, change: .gone))
            }
            agrees = false
            if let renamed = try find(record, in: directory) { try cut(renamed, record) }
        }
        return agrees
    }

    private func isSame(_ status: DiskStatus, _ record: FileRecord) -> Bool {
        guard let known = record.identity, let found = status.identity else { return true }
        return known == found
    }

    /// Opens a file that is still in place, cut to its recorded length.
    private func resume(_ record: FileRecord) throws {
        try makeRoom(for: 1)
        let file = try disk.open(record.path, .readWrite)
        let isCut = try cut(file, at: record.path, to: record.length)
        let open = try OpenFile(
            file, path: record.path, identity: record.identity, length: try file.size(),
            window: record.window, readsLines: options.compression == .none, now: clock.now())
        if isCut { open.markUnsynced() }
        // If the columns have changed, the next event renames it.
        guard try beginsWithHeader(record.path, open.length) else { return try sync(open) }
        files[record.path] = open
    }

    /// Cuts a file that now has another name.
    private func cut(_ path: String, _ record: FileRecord) throws {
        guard let size = try disk.status(path)?.size, size > record.length else { return }
        let file = try disk.open(path, .readWrite)
        if try cut(file, at: path, to: record.length) { try file.sync() }
    }

    /// Finds a file that another process renamed; nil: it is in another directory, or gone.
    private func find(_ record: FileRecord, in directory: String) throws -> String? {
        guard let identity = record.identity, try disk.status(directory) != nil else { return nil }
        for name in try disk.list(directory) {
            let path = directory + "/" + name
            if try disk.status(path)?.identity == identity { return path }
        }
        return nil
    }
}
