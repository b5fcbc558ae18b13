import Platform
import Synchronization

/// A segment as readers and retention see it. The writer publishes its state; any thread reads it.
final class Segment: Sendable {
    /// The size of a seal. The last bytes of the file are reserved for it.
    static let sealSize = 128

    let firstPosition: UInt64
    let path: String
    /// The size of the file in bytes.
    let fileSize: Int
    /// The bytes available for batches.
    var capacity: Int { fileSize - Self.sealSize }

    /// Batches below this offset may be read. Only grows.
    private let readable: Atomic<Int>
    /// The position after the last readable event.
    private let end: Atomic<UInt64>
    private let sealed: Atomic<Bool>
    /// Positions missing at or above this one were never durable.
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
    /// No batch will be added. Read it before `readableBytes`.
    var isSealed: Bool { sealed.load(ordering: .acquiring) }
    /// The receive times of its batches, in nanoseconds since 1970-01-01 UTC. In an empty segment `earliest` is above
    /// `latest`.
    var receiveTimes: (earliest: Int64, latest: Int64) {
        (earliest.load(ordering: .relaxed), latest.load(ordering: .relaxed))
    }

    func publish(readable bytes: Int, end position: UInt64) {
        end.store(position, ordering: .releasing)
        readable.store(bytes, ordering: .releasing)
    }

    /// The writer calls this before it publishes.
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

    /// - Returns: nil if `name` is not a segment's name.
    static func position(ofName name: String) -> UInt64? {
        guard name.utf8.count == 24, name.hasSuffix(".seg"), name.utf8.prefix(20).allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return UInt64(name.prefix(20))
    }
}
