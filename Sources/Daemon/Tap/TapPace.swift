import Platform

/// Limits the rate of a tap's records, so that a tap costs little however much passes. Pure.
struct TapPace {
    /// Records and bytes per second. A person reads less, and a program that wants every event is a destination.
    static let records = 5_000
    static let bytes = 8 << 20
    /// What may be saved up, in seconds.
    private static let saved = 0.2

    private var records = Double(Self.records) * Self.saved
    private var bytes = Double(Self.bytes) * Self.saved
    private var last: Instant

    init(now: Instant) { last = now }

    mutating func advance(to now: Instant) {
        let seconds = Double(max((now - last).inNanoseconds, 0)) / 1e9
        last = now
        records = min(records + seconds * Double(Self.records), Double(Self.records) * Self.saved)
        bytes = min(bytes + seconds * Double(Self.bytes), Double(Self.bytes) * Self.saved)
    }

    /// Whether another record may be sent. The last one may exceed the bytes, which the next ones pay for.
    var mayTake: Bool { records >= 1 && bytes > 0 }

    mutating func take(_ size: Int) {
        records -= 1
        bytes -= Double(size)
    }
}
