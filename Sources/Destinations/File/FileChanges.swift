import Platform
import Telemetry

// Opening, closing and renaming files.
extension FileDestination {
    // MARK: Before a division

    /// The bytes that a share may have: the space left in the file, or, if its first event doesn't fit, the space of a
    /// new file. Unlimited for compressed files, whose size is not known in advance.
    func room(_ path: String, _ count: Int) throws -> Int {
        guard let size = options.rotateSize, options.compression == .none else { return .max }
        let length = try files[path]?.length ?? disk.status(path)?.size ?? 0
        let whole = max(1, size - header.count)
        guard length > 0, length < size else { return whole }
        return count <= size - length ? size - length : whole
    }

    /// Bounds the number of files that events' values create.
    func admit(_ path: String, _ overflow: () -> String) throws -> String {
        guard division.hasValues, files[path] == nil, try disk.status(path) == nil else { return path }
        let hour = clock.wallClock() / 3_600_000_000_000
        if made.hour != hour { made = (hour, 0) }
        guard made.count < options.newFiles else {
            let instead = overflow()
            telemetry.emit(NewFilesLimited(destination: name, limit: options.newFiles, path: instead))
            return instead
        }
        made.count += 1
        return path
    }

    /// Renames the files that these shares must not be written to. Also detects changes that other processes made to
    /// files.
    func rotateDue(_ shares: [FileShare], counts: [Int], at position: UInt64) throws {
        var isChangedOutside = false
        for share in shares {
            guard let file = files[share.path], let change = try changeOutside(of: file) else { continue }
            telemetry.emit(FileChangedOutside(destination: name, path: share.path, change: change))
            try release(file)
            isChangedOutside = true
        }
        var due: [String: String] = [:]
        if options.rotateSize != nil || options.rotateEvery != nil || !header.isEmpty {
            for (share, count) in zip(shares, counts) where try isDue(share, count) {
                due[share.path] = try freeName(for: share.path)
            }
        }
        guard isChangedOutside || !due.isEmpty else { return }
        let paths = due.keys.sorted()
        for path in paths where files[path] == nil { try open([FileShare(path: path, window: 0)]) }
        try settle(at: position, rotated: due)
        for path in paths {
            guard let name = due[path] else { continue }
            let directory = directory(of: path)
            try disk.rename(path, to: directory + "/" + name)
            files[path] = nil
            isChanged = true
            try disk.syncDirectory(directory)
        }
    }

    private func isDue(_ share: FileShare, _ count: Int) throws -> Bool {
        let length: Int
        let window: Int64
        if let file = files[share.path] {
            (length, window) = (file.length, file.window)
        } else {
            guard let status = try disk.status(share.path), !status.isDirectory else { return false }
            (length, window) = (status.size, try self.window(of: share))
            if try !beginsWithHeader(share.path, length) { return true }
        }
        guard length > 0 else { return false }
        return share.window > window || options.rotateSize.map { count > $0 - min(length, $0) } ?? false
    }

    /// The window of a file of which only the last write time is known.
    private func window(of share: FileShare) throws -> Int64 {
        guard options.rotateEvery != nil, let time = try disk.modificationTime(share.path) else { return share.window }
        return min(share.window, division.window(time))
    }

    /// A file with other columns, or begun by another program, must not get our rows.
    func beginsWithHeader(_ path: String, _ length: Int) throws -> Bool {
        guard !header.isEmpty, length > 0 else { return true }
        guard length >= header.count else { return false }
        var bytes: [UInt8] = []
        _ = try disk.open(path, .readOnly).read(header.count, at: 0, appendingTo: &bytes)
        return bytes == header
    }

    private func freeName(for path: String) throws -> String {
        let directory = directory(of: path)
        let name = String(path.dropFirst(directory == "/" ? 1 : directory.count + 1))
        let seconds = clock.wallClock() / 1_000_000_000
        for number in 1...9999 {
            let candidate = RotatedName.make(from: name, seconds: seconds, number: number)
            if try disk.status(directory + "/" + candidate) == nil { return candidate }
        }
        throw FileDestinationError("\(path) was rotated 9999 times in one second; set a larger rotate.size")
    }

    // MARK: Opening and closing

    /// Opens the shares' files that are not open, and records their lengths before anything is written to them.
    func open(_ shares: [FileShare]) throws {
        let missing = shares.filter { files[$0.path] == nil }
        for share in shares { files[share.path]?.window = max(files[share.path]?.window ?? 0, share.window) }
        guard !missing.isEmpty else { return }
        let now = clock.now()
        for share in shares { files[share.path]?.lastUsed = now }
        try makeRoom(for: missing.count, besides: Set(shares.map(\.path)))
        var opened: [OpenFile] = []
        var directories: Set<String> = []
        for share in missing {
            guard share.path.utf8.count <= FileRecord.maximumPath else {
                throw FileDestinationError("\(share.path) is longer than \(FileRecord.maximumPath) bytes; shorten it")
            }
            let directory = directory(of: share.path)
            let status = try disk.status(share.path)
            if status == nil { try makeDirectory(directory) }
            // Existing files, too: their creator may have ended before it synced the directory.
            directories.insert(directory)
            let file = try disk.open(share.path, .createOrReadWrite)
            let length = try file.size()
            let window = length > 0 ? try self.window(of: share) : share.window
            opened.append(
                try OpenFile(
                    file, path: share.path, identity: try file.identity(), length: length, window: window,
                    readsLines: options.compression == .none, now: now))
        }
        for directory in directories { try disk.syncDirectory(directory) }
        _ = try ledger.append(opened.map(\.record))
        try syncLedger()
        for file in opened { files[file.path] = file }
        isChanged = true
    }

    /// Closes the files that have been idle longest, so that `count` more may be opened.
    func makeRoom(for count: Int, besides kept: Set<String> = []) throws {
        let excess = files.count + count - max(1, options.openFiles)
        guard excess > 0 else { return }
        let idle = files.values.filter { !kept.contains($0.path) }.sorted { $0.lastUsed < $1.lastUsed }
        for file in idle.prefix(excess) { try release(file) }
    }

    /// Closes files that have been idle for a while. Yesterday's file, which may be deleted by now, then uses no disk
    /// space.
    func closeIdle() throws {
        let now = clock.now()
        for file in files.values where now - file.lastUsed >= Self.idleLimit { try release(file) }
    }

    /// Closes a file. Syncs it first, because a closed file is not synced later.
    private func release(_ file: OpenFile) throws {
        try sync(file)
        files[file.path] = nil
        isChanged = true
    }

    /// Detects a change that another process made to a file.
    private func changeOutside(of file: OpenFile) throws -> FileChangedOutside.Change? {
        guard !file.mustCut else { return nil }
        guard let status = try disk.status(file.path) else { return .gone }
        if let known = file.identity, let found = status.identity, known != found { return .replaced }
        if status.size < file.length { return .truncated }
        return status.size > file.length ? .grown : nil
    }

    /// Creates the missing parts of a directory, durably.
    private func makeDirectory(_ path: String) throws {
        guard try disk.status(path) == nil else { return }
        let parent = directory(of: path)
        if parent != path { try makeDirectory(parent) }
        try disk.makeDirectory(path, permissions: 0o750)
        try disk.syncDirectory(parent)
    }
}
