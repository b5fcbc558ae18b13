import Platform
import Synchronization

/// A segment as readers and retention see it. The writer publishes; any thread looks.
final class Segment: Sendable {
    /// A seal's size: the last bytes of the file, kept free of anything else.
    static let sealSize = 128

    let firstPosition: UInt64
    let path: String
    /// Of the file, in bytes.
    let fileSize: Int
    /// Bytes that batches may take.
    var capacity: Int { fileSize - Self.sealSize }

    /// Batches below may be read. Only grows.
    private let readable: Atomic<Int>
    /// The position after the last readable event.
    private let end: Atomic<UInt64>
    private let sealed: Atomic<Bool>
    /// What is missing at or above this position was never durable.
    let durable: UInt64
    private let earliest: Atomic<Int64>
    private let latest: Atomic<Int64>

    init(
        firstPosition: UInt64, path: String, fileSize: Int, readable: Int, end: UInt64, sealed: Bool,
        durable: UInt64 = .max, earliest: Int64 = .max, latest: Int64 = .min
    ) {
        self.firstPosition = firstPosition
        self.path = path
        self.fileSize = fileSize
        self.readable = Atomic(readable)
        self.end = Atomic(end)
        self.sealed = Atomic(sealed)
        self.durable = durable
        self.earliest = Atomic(earliest)
        self.latest = Atomic(latest)
    }

    var readableBytes: Int { readable.load(ordering: .acquiring) }
    var endPosition: UInt64 { end.load(ordering: .acquiring) }
    /// Nothing will be added. Ask before `readableBytes`.
    var isSealed: Bool { sealed.load(ordering: .acquiring) }
    /// Receive times of what lies in it, in nanoseconds since 1970-01-01 UTC; an empty segment's are
    /// the wrong way round.
    var receiveTimes: (earliest: Int64, latest: Int64) {
        (earliest.load(ordering: .relaxed), latest.load(ordering: .relaxed))
    }

    func publish(readable bytes: Int, end position: UInt64) {
        end.store(position, ordering: .releasing)
        readable.store(bytes, ordering: .releasing)
    }

    /// The writer's, before it publishes.
    func note(receivedAt time: Int64) {
        if time < earliest.load(ordering: .relaxed) { earliest.store(time, ordering: .relaxed) }
        if time > latest.load(ordering: .relaxed) { latest.store(time, ordering: .relaxed) }
    }

    func seal() { sealed.store(true, ordering: .releasing) }

    // MARK: - Names

    static func name(_ position: UInt64) -> String {
        let digits = String(position)
        return String(repeating: "0", count: 20 - digits.count) + digits + ".seg"
    }

    /// - Returns: nil if this is not a segment's name.
    static func position(ofName name: String) -> UInt64? {
        guard name.utf8.count == 24, name.hasSuffix(".seg"), name.utf8.prefix(20).allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return UInt64(name.prefix(20))
    }
}
