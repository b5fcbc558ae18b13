/// How far back in the journal events can still affect the decision about a later event.
package struct Lookback: Sendable, Equatable {
    /// The maximum distance in positions.
    package var positions: UInt64
    /// The maximum difference in receive time, in nanoseconds.
    package var time: Int64

    package init(positions: UInt64, time: Int64) {
        self.positions = positions
        self.time = time
    }
}
