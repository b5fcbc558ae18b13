import ArgumentParser
import Platform

/// Buffered stdout, for results of any length. After a failed write, further output is discarded.
struct ResultStream {
    private static let piece = 64 << 10

    private var bytes: [UInt8] = []
    private var failure: SystemError?

    var hasFailed: Bool { failure != nil }

    mutating func write(_ text: String) { write(Array(text.utf8)) }

    mutating func write(_ more: [UInt8]) {
        bytes += more
        if bytes.count >= Self.piece { flush() }
    }

    /// Writes the rest of the buffer.
    /// - Throws: the error of a failed write, unless the reader has closed the pipe (`| head`).
    mutating func finish() throws {
        flush()
        guard let failure, !failure.isClosedByReader else { return }
        throw ReportedError("cannot write the results: \(failure)")
    }

    private mutating func flush() {
        if failure == nil {
            do throws(SystemError) { try StandardStream.output.write(bytes) } catch { failure = error }
        }
        bytes.removeAll(keepingCapacity: true)
    }
}
