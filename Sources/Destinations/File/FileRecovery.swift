import Platform
import Telemetry

// After a crash, or an orderly end: files as they were at the cursor.
extension FileDestination {
    /// Cuts off what was written behind the cursor, and goes on with the files that are where they were.
    /// - Parameter state: the cursor's.
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
        // Without a place in the ledger, nothing that is written now could be cut off later.
        if !isKnown { try settle(at: floor) }
    }

    /// Of each file the smallest length and the newest name, in the order of their first records.
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
            // Where only names tell, one that came after a rename is another file.
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

    /// - Returns: false if the ledger says something of a file that does not hold any more.
    private func recover(_ records: [FileRecord]) throws -> Bool {
        var agrees = true
        for (number, record) in records.enumerated() {
            let directory = directory(of: record.path)
            if let status = try disk.status(record.path), !status.isDirectory, isSame(status, record),
                // Without identities only the new name tells.
                try record.identity != nil || record.rotatedName.map({ try disk.status(directory + "/" + $0) == nil }) ?? true
            {
                if status.size < record.length {
                    telemetry.emit(FileChangedOutside(destination: name, path: record.path, change: .truncated))
                    agrees = false
                }
                try resume(record)
                continue
            }
            if let rotated = record.rotatedName, let status = try disk.status(directory + "/" + rotated), isSame(status, record) {
                try cut(directory + "/" + rotated, record)
                continue
            }
            // A file that came after it at the same path says that its end was noticed.
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

    /// Opens a file that is where it was, cut to its length.
    private func resume(_ record: FileRecord) throws {
        try makeRoom(for: 1)
        let file = try disk.open(record.path, .readWrite)
        let size = try file.size()
        if size > record.length { try file.truncate(to: record.length) }
        let open = try OpenFile(
            file, path: record.path, identity: record.identity, length: min(size, record.length),
            window: record.window, readsLines: options.compression == .none, now: clock.now())
        open.isUnsynced = size > record.length
        // With other columns than before, it is renamed when an event comes.
        guard try beginsWithHeader(record.path, open.length) else { return try sync(open) }
        files[record.path] = open
    }

    /// Cuts a file that has another name now.
    private func cut(_ path: String, _ record: FileRecord) throws {
        guard let size = try disk.status(path)?.size, size > record.length else { return }
        let file = try disk.open(path, .readWrite)
        try file.truncate(to: record.length)
        try file.sync()
    }

    /// Where a file is that somebody else renamed; nil: in another directory, or nowhere.
    private func find(_ record: FileRecord, in directory: String) throws -> String? {
        guard let identity = record.identity, try disk.status(directory) != nil else { return nil }
        for name in try disk.list(directory) {
            let path = directory + "/" + name
            if try disk.status(path)?.identity == identity { return path }
        }
        return nil
    }
}
