/// What another host told about events that it received before this one did.
package struct EarlierReceipt: Sendable, Hashable {
    /// The host's name; empty: not known.
    package var host: String
    /// By line of the buffer that the events are in: when the host received it, in nanoseconds since 1970-01-01 UTC.
    /// Empty: not known.
    package var times: [Int64]

    package init(host: String, times: [Int64]) {
        self.host = host
        self.times = times
    }
}
