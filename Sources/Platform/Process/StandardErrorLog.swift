import Glibc

/// The log on standard error. Each line is one write, so lines of different threads never mix.
///
/// Under systemd, each line starts with its priority (`<4>`, sd-daemon(3)). Otherwise it starts with the time and the
/// level. Any thread.
package struct StandardErrorLog: Sendable {
    private let descriptor: Int32
    private let clock: any Clock
    /// Whether the descriptor is connected to systemd's journal.
    package let isJournal: Bool

    /// - Parameter journalStream: the value of JOURNAL_STREAM: device and inode of the stream that systemd connected to
    ///   its journal. Standard error may be a different file, for example after `penstockd 2>file` in a unit's script.
    package init(
        descriptor: Int32 = STDERR_FILENO, clock: any Clock = SystemClock(),
        journalStream: String? = unsafe getenv("JOURNAL_STREAM").map { unsafe String(cString: $0) }
    ) {
        self.descriptor = descriptor
        self.clock = clock
        isJournal = Self.isJournal(descriptor, journalStream)
    }

    /// Whether a descriptor is connected to systemd's journal.
    package static func isJournal(
        _ descriptor: Int32,
        _ journalStream: String? = unsafe getenv("JOURNAL_STREAM").map { unsafe String(cString: $0) }
    ) -> Bool {
        var status = stat()
        let known = unsafe fstat(descriptor, &status) == 0
        return known && journalStream == "\(status.st_dev):\(status.st_ino)"
    }

    package func write(_ line: String, priority: Int, name: String) {
        let prefix = isJournal ? "<\(priority)>" : "\(Self.time(clock.wallClock())) \(name) "
        let bytes = Array((prefix + line.withControlCharactersEscaped + "\n").utf8)
        unsafe bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let put = unsafe Glibc.write(
                    descriptor, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done)
                // Any other error cannot be reported anywhere.
                if put == 0 || put < 0 && errno != EINTR { return }
                done += max(put, 0)
            }
        }
    }

    /// RFC 3339, UTC, in milliseconds: `2026-01-31T12:00:00.250Z`.
    static func time(_ nanoseconds: Int64) -> String {
        let seconds = CalendarTime.text(secondsSince1970: nanoseconds / 1_000_000_000, "%Y-%m-%dT%H:%M:%S") ?? ""
        let fraction = String(1000 + nanoseconds / 1_000_000 % 1000).dropFirst()
        return "\(seconds).\(fraction)Z"
    }
}
