/// The answers of one connection in the order of its requests. An answer is sent once the events of its request, and
/// all answers before it, are durable. Pure.
struct AnswerQueue {
    /// Requests that may wait for their answers at once, when a client sends requests without waiting (pipelining).
    static let limit = 64

    private var waiting = Fifo<(end: UInt64, bytes: [UInt8])>()
    private var ready: [UInt8] = []
    private var durableEnd: UInt64 = 0
    /// The position that the latest answer waits for. Answers wait for those before them, so it never decreases.
    private var lastEnd: UInt64 = 0
    /// Bytes of all answers that were not taken.
    private(set) var size = 0

    var isEmpty: Bool { size == 0 }
    var isFull: Bool { waiting.count >= Self.limit }
    /// The position at which all answers can be sent; nil: they can be sent now.
    var awaitedEnd: UInt64? { waiting.isEmpty ? nil : lastEnd }

    /// - Parameter end: the journal position at which the request's events are durable; 0: it has none.
    mutating func add(_ bytes: [UInt8], after end: UInt64) {
        size += bytes.count
        lastEnd = max(lastEnd, end)
        if waiting.isEmpty, lastEnd <= durableEnd {
            ready += bytes
        } else {
            waiting.append((lastEnd, bytes))
        }
    }

    mutating func durable(upTo end: UInt64) {
        durableEnd = max(durableEnd, end)
        while let front = waiting.front, front.end <= durableEnd {
            ready += front.bytes
            _ = waiting.popFirst()
        }
    }

    mutating func takeReady() -> [UInt8]? {
        guard !ready.isEmpty else { return nil }
        defer { ready = [] }
        size -= ready.count
        return ready
    }

    mutating func discard() {
        self = AnswerQueue()
    }
}
