import Synchronization

/// A pool of writers whose buffers are reused. A thread usually gets back the writer that it returned last. If no
/// writer is free, because of other threads or an event that records another event, a new one is made.
struct WriterPool: Sendable {
    private final class Place: Sendable {
        let writer = Mutex<JSONWriter?>(nil)
    }

    /// The largest buffer of a pooled writer in bytes. Larger ones are freed.
    private static let sizeLimit = 64 << 10

    private let places = (0..<ThreadStripe.count).map { _ in Place() }

    func take() -> JSONWriter {
        places[ThreadStripe.current].writer.withLock { writer in
            defer { writer = nil }
            return writer
        } ?? JSONWriter()
    }

    func putBack(_ writer: JSONWriter) {
        guard writer.builder.text.bytes.capacity <= Self.sizeLimit else { return }
        writer.removeAll()
        places[ThreadStripe.current].writer.withLock { $0 = writer }
    }
}
