import CSystemd
import Glibc
import PenstockPluginKit

/// The files of a journal, read through libsystemd: one entry after the other, across rotated and deleted files. One
/// thread at a time; `wake` may be called by any.
///
/// Unsafe part: the library's handle, valid until `close`.
@safe final class JournalFiles: @unchecked Sendable {
    private let handle: OpaquePointer
    private let files: Int32
    /// The ends of a pipe.
    private let wakeUp: (read: Int32, write: Int32)

    /// - Parameter directory: nil: the journal of this machine.
    init(directory: String?) throws(SourceError) {
        let place = directory ?? "this machine's journal"
        var handle: OpaquePointer?
        let status =
            unsafe directory.map { unsafe sd_journal_open_directory(&handle, $0, 0) }
            ?? sd_journal_open(&handle, Int32(SD_JOURNAL_LOCAL_ONLY))
        guard status >= 0, let handle = unsafe handle else {
            throw SourceError("\(place) cannot be opened: \(Self.text(status))")
        }
        // Watches the directories: files that appear from here on are noticed.
        let files = unsafe sd_journal_get_fd(handle)
        var pipe: [Int32] = [-1, -1]
        guard files >= 0, unsafe Glibc.pipe(&pipe) == 0 else {
            let reason = files < 0 ? Self.text(files) : unsafe String(cString: strerror(errno))
            unsafe sd_journal_close(handle)
            throw SourceError(
                "\(place) cannot be watched: \(reason); a watch takes an inotify instance (sysctl"
                    + " fs.inotify.max_user_instances)")
        }
        for end in pipe {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        unsafe self.handle = handle
        self.files = files
        wakeUp = (pipe[0], pipe[1])
    }

    /// The last call.
    func close() {
        unsafe sd_journal_close(handle)
        Glibc.close(wakeUp.read)
        Glibc.close(wakeUp.write)
    }

    /// Bounds the work for a long value that is compressed. Longer ones may still be read whole.
    func setLongestValue(_ bytes: Int) {
        // A name has at most 64 bytes, and one byte more shows that a value was cut.
        unsafe sd_journal_set_data_threshold(handle, bytes + 66)
    }

    /// - Returns: false: there is no later entry yet.
    func next() throws(SourceError) -> Bool { try check(unsafe sd_journal_next(handle), "read") > 0 }

    func previous() throws(SourceError) -> Bool { try check(unsafe sd_journal_previous(handle), "read") > 0 }

    /// `next` then goes to this entry, or to the nearest later one.
    func seek(_ cursor: JournalCursor) throws(SourceError) {
        _ = try check(unsafe sd_journal_seek_cursor(handle, cursor.text), "searched")
    }

    func seekHead() throws(SourceError) { _ = try check(unsafe sd_journal_seek_head(handle), "searched") }
    func seekTail() throws(SourceError) { _ = try check(unsafe sd_journal_seek_tail(handle), "searched") }

    /// Whether the current entry is that of the cursor.
    func isAt(_ cursor: JournalCursor) throws(SourceError) -> Bool {
        try check(unsafe sd_journal_test_cursor(handle, cursor.text), "searched") > 0
    }

    /// Of the current entry.
    func cursor() throws(SourceError) -> JournalCursor {
        var text: UnsafeMutablePointer<CChar>?
        _ = try check(unsafe sd_journal_get_cursor(handle, &text), "read")
        defer { unsafe free(text) }
        let string = unsafe text.map { unsafe String(cString: $0) } ?? ""
        guard let cursor = JournalCursor(string) else {
            throw SourceError("the journal's cursor \"\(string)\" has an unknown form; this systemd is not supported")
        }
        return cursor
    }

    /// The fields of the current entry.
    /// - Parameter most: bytes of all fields; the fields after it are left out.
    func read(_ entry: inout LogEntry, longest: Int, most: Int) throws(SourceError) {
        entry.removeAll()
        unsafe sd_journal_restart_data(handle)
        var (data, size): (UnsafeRawPointer?, Int) = (nil, 0)
        while entry.bytes.count < most,
            try check(unsafe sd_journal_enumerate_available_data(handle, &data, &size), "read") > 0
        {
            unsafe entry.add(UnsafeRawBufferPointer(start: data, count: size), longest: longest)
        }
    }

    /// Waits until the files change, `wake` is called, or the time has passed.
    func wait(_ time: Duration) {
        let events = unsafe Int16(truncatingIfNeeded: sd_journal_get_events(handle))
        var descriptors = [
            pollfd(fd: files, events: events, revents: 0), pollfd(fd: wakeUp.read, events: Int16(POLLIN), revents: 0),
        ]
        unsafe poll(&descriptors, 2, Int32(clamping: time.wholeMilliseconds))
        var bytes = [UInt8](repeating: 0, count: 64)
        unsafe Glibc.read(wakeUp.read, &bytes, bytes.count)
        unsafe sd_journal_process(handle)
    }

    /// Any thread, before `close`.
    func wake() {
        var byte: UInt8 = 0
        unsafe write(wakeUp.write, &byte, 1)
    }

    private func check(_ status: Int32, _ what: String) throws(SourceError) -> Int32 {
        guard status >= 0 else { throw SourceError("the journal cannot be \(what): \(Self.text(status))") }
        return status
    }

    private static func text(_ status: Int32) -> String { unsafe String(cString: strerror(-status)) }
}
