import CSystemd
import Glibc
import Synchronization

/// The log in systemd's journal, as entries with fields (systemd.journal-fields(7)). Any thread.
///
/// A thread of its own writes the entries, in order, because a call into journald waits while journald is slow. The
/// entries that wait for it have a bound; further ones are counted, and an entry reports their number once journald
/// takes entries again. If an entry cannot be sent at all, the caller's fallback gets it.
package final class JournaldLog: Sendable {
    package struct Field: Sendable, Equatable {
        /// As systemd requires: upper case letters, digits and `_`.
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Limits of the entries that wait or are being written.
    package static let entryLimit = 2000
    package static let byteLimit = 2 << 20
    /// A longer value is cut.
    package static let valueLimit = 16 << 10

    private struct State {
        var waiting: [[Field]] = []
        /// The bytes of the entries that wait.
        var bytes = 0
        /// The entries and their bytes that the thread is writing.
        var written = (entries: 0, bytes: 0)
        var lost: UInt64 = 0
        var isWriting = false
    }

    private let state = Mutex(State())
    private let bell = Doorbell()
    /// Rings when nothing waits any more.
    private let idle = Doorbell()

    /// Starts the thread, which ends with the program.
    /// - Parameters:
    ///   - send: hands an entry to journald; may wait. Returns 0, or a negative error number.
    ///   - lost: the entry that reports how many entries were lost.
    ///   - fallback: gets an entry that could not be sent. Called by the log's thread.
    /// - Throws: the process may not create a thread.
    package init(
        send: @escaping @Sendable ([Field]) -> Int32 = JournaldLog.send,
        lost: @escaping @Sendable (UInt64) -> [Field], fallback: @escaping @Sendable ([Field]) -> Void
    ) throws(SystemError) {
        _ = try WorkerThread(trying: "log") { [self] in
            while true {
                bell.wait()
                while let entries = take(lost) {
                    for entry in entries where send(entry) < 0 { fallback(entry) }
                }
                idle.ring()
            }
        }
    }

    /// Queues an entry. Does not wait for journald.
    package func write(_ fields: [Field]) {
        let fields = fields.map { Field($0.name, Self.cut($0.value)) }
        let size = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        state.withLock { state in
            guard state.waiting.count + state.written.entries < Self.entryLimit,
                state.bytes + state.written.bytes + size <= Self.byteLimit
            else {
                state.lost &+= 1
                return
            }
            state.waiting.append(fields)
            state.bytes += size
        }
        bell.ring()
    }

    /// Waits until all entries are written. Call once, at the end of the program.
    /// - Parameter limit: how long to wait. A journald that hangs does not hold the program longer.
    package func finish(within limit: Duration) {
        let deadline = SystemClock().now() + limit
        while !state.withLock({ $0.waiting.isEmpty && !$0.isWriting && $0.lost == 0 }) {
            bell.ring()
            guard idle.wait(until: deadline) else { return }
        }
    }

    /// - Returns: nil: nothing waits.
    private func take(_ lost: (UInt64) -> [Field]) -> [[Field]]? {
        let (entries, missing) = state.withLock { state in
            defer {
                state.isWriting = !state.waiting.isEmpty || state.lost > 0
                state.written = (state.waiting.count, state.bytes)
                state.waiting = []
                state.bytes = 0
                state.lost = 0
            }
            return (state.waiting, state.lost)
        }
        // The entries were lost after those that waited.
        let all = missing > 0 ? entries + [lost(missing)] : entries
        return all.isEmpty ? nil : all
    }

    private static func cut(_ value: String) -> String {
        guard value.utf8.count > valueLimit else { return value }
        return String(decoding: value.utf8.prefix(valueLimit), as: UTF8.self) + "…"
    }

    /// Sends an entry by journald's native protocol. Waits while journald is slow.
    /// - Returns: 0, or a negative error number.
    package static func send(_ fields: [Field]) -> Int32 {
        var bytes: [UInt8] = []
        var ranges: [Range<Int>] = []
        for field in fields {
            let start = bytes.count
            bytes += field.name.utf8
            bytes.append(UInt8(ascii: "="))
            bytes += field.value.utf8
            ranges.append(start..<bytes.count)
        }
        // libsystemd reads the memory, and does so before it returns.
        return unsafe bytes.withUnsafeMutableBytes { buffer in
            let parts = unsafe ranges.map { range in
                unsafe iovec(iov_base: buffer.baseAddress.map { unsafe $0 + range.lowerBound }, iov_len: range.count)
            }
            return unsafe sd_journal_sendv(parts, Int32(clamping: parts.count))
        }
    }
}
