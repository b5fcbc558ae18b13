import Delivery
import Platform
import Telemetry

// The steps of a change of files, in the order that the comment at the top of FileDestination.swift
// gives, and what follows on each of them after a crash.
extension FileDestination {
    /// Takes up what the recorded state says. Leaves `file` nil if there is nothing to continue.
    func recover(at position: UInt64) throws {
        guard let recorded = state else { return }
        if let rotated = recorded.rotatedName {
            // The rename happened: the file at the path, if any, is not the recorded one.
            if try disk.status(directory(of: recorded.path) + "/" + rotated) != nil { return }
            state?.rotatedName = nil
        }
        guard let status = try disk.status(recorded.path), !status.isDirectory else {
            telemetry.emit(FileChangedOutside(destination: name, path: recorded.path))
            return
        }
        let file = try disk.open(recorded.path, .readWrite)
        let size = try file.size()
        if size < recorded.length {
            telemetry.emit(FileChangedOutside(destination: name, path: recorded.path))
            // From a length that is recorded nowhere nothing could be told after the next crash.
            return try change(to: recorded.path, window: recorded.window, position: position)
        }
        if size > recorded.length {
            try file.truncate(to: recorded.length)
            isUnsynced = true
        }
        self.file = file
        lacksLineFeed = try !endsWithLineFeed(file, length: recorded.length)
    }

    /// Makes `file` the one to write to, renaming the present one first where that is due.
    /// - Parameter count: bytes that will be written.
    func prepare(path: String, window: Int64, count: Int, position: UInt64) throws {
        guard file != nil, let present = state, present.path == path else {
            return try change(to: path, window: window, position: position)
        }
        let isTooLarge = options.rotateSize.map { count > $0 - min(present.length, $0) } ?? false
        if present.length > 0, isTooLarge || window > present.window {
            try rotate(position: position)
            try change(to: path, window: window, position: position)
        } else if window > present.window {
            state?.window = window
        }
    }

    /// Goes over to the file at `path`, which is made if it is missing and continued if it is
    /// there.
    /// - Parameter position: the first event that is not in the files before.
    func change(to path: String, window: Int64, position: UInt64) throws {
        guard path.utf8.count <= FileState.maximumPath else {
            throw FileDestinationError("\(path) is longer than \(FileState.maximumPath) bytes; shorten it")
        }
        if mustCut { try cut() }
        try sync()
        let directory = directory(of: path)
        try makeDirectory(directory)
        let next = try disk.open(path, .createOrReadWrite)
        try disk.syncDirectory(directory)
        let length = try next.size()
        let isWhole = try endsWithLineFeed(next, length: length)
        let state = FileState(path: path, length: length, window: window)
        try commit(Cursor(position: position, state: state.encoded))
        self.state = state
        file = next
        lacksLineFeed = !isWhole
    }

    /// Renames the present file. Afterwards there is none.
    private func rotate(position: UInt64) throws {
        guard let present = state else { return }
        if mustCut { try cut() }
        try sync()
        let directory = directory(of: present.path)
        var rotated = present
        let name = try freeName(for: present.path)
        rotated.rotatedName = name
        try commit(Cursor(position: position, state: rotated.encoded))
        try disk.rename(present.path, to: directory + "/" + name)
        state = rotated
        file = nil
        try disk.syncDirectory(directory)
    }

    private func freeName(for path: String) throws -> String {
        let directory = directory(of: path)
        let name = String(path.dropFirst(directory == "/" ? 1 : directory.count + 1))
        let seconds = clock.wallClock() / 1_000_000_000
        for number in 1...9999 {
            let candidate = RotatedName.make(from: name, seconds: seconds, number: number)
            if try disk.status(directory + "/" + candidate) == nil { return candidate }
        }
        throw FileDestinationError("\(path) was rotated 9999 times within a second; set a larger rotate.size")
    }

    /// Writes at the end of the file, or leaves it as it was.
    func append(_ bytes: Span<UInt8>) throws {
        guard let file, var state else { throw FileDestinationError("the file is not open") }
        if mustCut { try cut() }
        isUnsynced = true
        do {
            if lacksLineFeed {
                try file.write([UInt8(ascii: "\n")].span, at: state.length)
                state.length += 1
            }
            try file.write(bytes, at: state.length)
        } catch {
            mustCut = true
            try? cut()
            throw error
        }
        state.length += bytes.count
        lacksLineFeed = false
        self.state = state
    }

    /// Takes back what a failed write may have left.
    private func cut() throws {
        guard let file, let state else { return }
        try file.truncate(to: state.length)
        mustCut = false
    }

    /// fdatasync. After a failure nothing is known of the file any more: everything fails until
    /// it is opened again from the last recorded length.
    func sync() throws {
        // Its cursor is not needed: whoever syncs now records a later one.
        _ = try endBackgroundSync()
        guard isUnsynced, let file else { return }
        do {
            try file.sync()
            isUnsynced = false
        } catch {
            failure = error
            throw error
        }
    }

    /// Has what was written so far synced while delivery goes on.
    /// - Parameter cursor: what holds once that is done.
    func beginBackgroundSync(_ syncer: FileSyncer, _ cursor: Cursor) {
        guard isUnsynced, let file else { return }
        isUnsynced = false
        syncing = cursor
        syncer.begin(file)
    }

    /// Waits for it. A failure is one of `sync`.
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

    /// Makes what is missing of a directory, durably.
    private func makeDirectory(_ path: String) throws {
        guard try disk.status(path) == nil else { return }
        let parent = directory(of: path)
        if parent != path { try makeDirectory(parent) }
        try disk.makeDirectory(path, permissions: 0o750)
        try disk.syncDirectory(parent)
    }

    /// Also true where nobody reads by lines: an empty or a compressed file.
    private func endsWithLineFeed(_ file: any DiskFile, length: Int) throws -> Bool {
        guard options.compression == .none, length > 0 else { return true }
        var last: [UInt8] = []
        _ = try file.read(1, at: length - 1, appendingTo: &last)
        return last.first == UInt8(ascii: "\n")
    }

    private func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
