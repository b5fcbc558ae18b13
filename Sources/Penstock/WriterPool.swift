import Synchronization

/// Writers with their buffers, for one event after the other. A thread mostly gets the one that it has put
/// back; where threads, or events inside events, are more than writers, new ones are made.
struct WriterPool: Sendable {
    private final class Place: Sendable {
        let writer = Mutex<JSONWriter?>(nil)
    }

    /// Bytes that a kept writer's buffer has at most.
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
