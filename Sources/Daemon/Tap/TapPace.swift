import Platform

/// Limits the rate of a tap's records, so that a tap costs little however much passes. Pure.
struct TapPace {
    /// Records and bytes per second. A person reads less, and a program that wants every event is a destination.
    static let records = 5_000
    static let bytes = 8 << 20
    /// What may be saved up, in seconds.
    private static let saved = 0.2

    private let rate: Double
    private var records: Double
    private var bytes = Double(Self.bytes) * Self.saved
    private var last: Instant

    /// - Parameter rate: the most records per second, at most `records`.
    init(rate: Int = Self.records, now: Instant) {
        self.rate = Double(min(rate, Self.records))
        records = max(self.rate * Self.saved, 1)
        last = now
    }

    mutating func advance(to now: Instant) {
        let seconds = Double(max((now - last).inNanoseconds, 0)) / 1e9
        last = now
        records = min(records + seconds * rate, max(rate * Self.saved, 1))
        bytes = min(bytes + seconds * Double(Self.bytes), Double(Self.bytes) * Self.saved)
    }

    /// Whether another record may be sent. The last one may exceed the bytes, which the next ones pay for.
    var mayTake: Bool { records >= 1 && bytes > 0 }

    mutating func take(_ size: Int) {
        records -= 1
        bytes -= Double(size)
    }
}
