import ArgumentParser
import Glibc

/// stdout, for results of any length: written in pieces, and no further once nobody reads it.
struct ResultStream {
    private static let piece = 64 << 10

    private var bytes: [UInt8] = []
    /// errno of the write that failed.
    private var failure: Int32?

    var hasFailed: Bool { failure != nil }

    mutating func write(_ text: String) { write(Array(text.utf8)) }

    mutating func write(_ more: [UInt8]) {
        bytes += more
        if bytes.count >= Self.piece { flush() }
    }

    /// Writes the rest.
    /// - Throws: why not all of it could be written, unless it is that the reader has gone (`| head`).
    mutating func finish() throws {
        flush()
        guard let failure, failure != EPIPE else { return }
        throw ReportedError("cannot write the results: \(unsafe String(cString: strerror(failure)))")
    }

    private mutating func flush() {
        var rest = bytes[...]
        while failure == nil, !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count >= 0 { rest = rest.dropFirst(count) } else if errno != EINTR { failure = errno }
        }
        bytes.removeAll(keepingCapacity: true)
    }
}
