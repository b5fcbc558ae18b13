/// How far back in the journal events lie on which the answer about a later one may depend.
package struct Lookback: Sendable, Equatable {
    /// So many positions at most,
    package var positions: UInt64
    /// received so many nanoseconds before it at most.
    package var time: Int64

    package init(positions: UInt64, time: Int64) {
        self.positions = positions
        self.time = time
    }
}
