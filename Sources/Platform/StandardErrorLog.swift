import Glibc
import Telemetry

/// The log on standard error, one line a write, so that lines of several threads never mix.
///
/// Under systemd each line starts with its priority as the journal wants it (`<4>`, sd-daemon(3));
/// elsewhere with time and level, for a person. Any thread.
package struct StandardErrorLog: LogSink {
    private let descriptor: Int32
    private let clock: any Clock
    private let forJournal: Bool

    /// - Parameter journalStream: the variable JOURNAL_STREAM: device and inode of the stream to
    ///   the journal. Ours may be another one: `penstockd 2>file` in a unit's script.
    package init(
        descriptor: Int32 = STDERR_FILENO, clock: any Clock = SystemClock(),
        journalStream: String? = unsafe getenv("JOURNAL_STREAM").map { unsafe String(cString: $0) }
    ) {
        self.descriptor = descriptor
        self.clock = clock
        forJournal = Self.isJournal(descriptor, journalStream)
    }

    /// Whether what is written to a descriptor is written to systemd's journal.
    package static func isJournal(
        _ descriptor: Int32, _ journalStream: String? = unsafe getenv("JOURNAL_STREAM").map { unsafe String(cString: $0) }
    ) -> Bool {
        var status = stat()
        let known = unsafe fstat(descriptor, &status) == 0
        return known && journalStream == "\(status.st_dev):\(status.st_ino)"
    }

    package func write(_ level: Level, _ line: String) {
        let prefix = forJournal ? "<\(level.rawValue)>" : "\(Self.time(clock.wallClock())) \(level) "
        let bytes = Array((prefix + line.withControlCharactersEscaped + "\n").utf8)
        unsafe bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let put = unsafe Glibc.write(descriptor, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done)
                // Any other error: there is nowhere left to say it.
                if put == 0 || put < 0 && errno != EINTR { return }
                done += max(put, 0)
            }
        }
    }

    /// RFC 3339, UTC, milliseconds: `2026-01-31T12:00:00.250Z`.
    static func time(_ nanoseconds: Int64) -> String {
        var seconds = time_t(nanoseconds / 1_000_000_000)
        var fields = unsafe tm()
        unsafe gmtime_r(&seconds, &fields)
        var text = [CChar](repeating: 0, count: 32)
        let length = unsafe strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &fields)
        let fraction = String(1000 + nanoseconds / 1_000_000 % 1000).dropFirst()
        return String(decoding: text[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self) + ".\(fraction)Z"
    }
}
