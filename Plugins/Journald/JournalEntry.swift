import CSystemd
import Glibc

/// The fields of one entry of the journal.
struct JournalEntry {
    /// The fields that the plugin sets, besides those that begin with PENSTOCK_.
    static let ownNames: Set<String> = [
        "MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER", "KIND", "EVENT", "NAME", "USER_ID", "ANONYMOUS_ID", "GROUP_ID",
        "TIMESTAMP", "PROPERTIES", "TRAITS", "PAYLOAD",
    ]

    /// NAME=value, one after the other.
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    /// - Parameter append: appends the value; false: the entry does not get this field.
    mutating func add(_ name: String, _ append: (inout [UInt8]) -> Bool) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: "="))
        if append(&bytes) {
            ends.append(bytes.count)
        } else {
            bytes.removeLast(bytes.count - (ends.last ?? 0))
        }
    }

    mutating func add(_ name: String, _ value: String) {
        add(name) { bytes in
            bytes.append(contentsOf: value.utf8)
            return true
        }
    }

    /// Hands the entry to journald. Waits while journald's socket is full.
    /// - Returns: 0 or an errno. The library also returns 0 if there is no journald.
    func send() -> Int32 {
        var copy = bytes
        return
            -(unsafe copy.withUnsafeMutableBytes { bytes in
                var start = 0
                let fields = unsafe ends.map { end in
                    defer { start = end }
                    return unsafe iovec(iov_base: bytes.baseAddress.map { unsafe $0 + start }, iov_len: end - start)
                }
                return unsafe sd_journal_sendv(fields, Int32(fields.count))
            })
    }
}
