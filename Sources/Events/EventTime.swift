/// A time in nanoseconds, in any year that RFC 3339 can express. A 64-bit count of nanoseconds would end in 2262, but
/// services receive times such as 9999-12-31.
package struct EventTime: Sendable, Equatable {
    /// Whole seconds since 1970-01-01 UTC, rounded down.
    package let seconds: Int64
    /// The nanoseconds after `seconds`: 0..<1,000,000,000.
    package let nanoseconds: Int64

    static let nanosecondsPerSecond: Int64 = 1_000_000_000

    /// - Parameters:
    ///   - seconds: since 1970-01-01 UTC.
    ///   - nanoseconds: after `seconds`: 0..<1,000,000,000.
    package init(seconds: Int64, nanoseconds: Int64) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// - Parameter nanoseconds: since 1970-01-01 UTC.
    package init(nanoseconds: Int64) {
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: Self.nanosecondsPerSecond)
        seconds = remainder < 0 ? quotient - 1 : quotient
        self.nanoseconds = remainder < 0 ? remainder + Self.nanosecondsPerSecond : remainder
    }

    /// Whole units since 1970-01-01 UTC, rounded down; nil if the count exceeds 64 bits.
    /// - Parameter perSecond: how many units a second has: 1 to 1,000,000,000.
    package func count(perSecond: Int64) -> Int64? {
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: perSecond)
        let (count, overflows) = whole.addingReportingOverflow(nanoseconds / (Self.nanosecondsPerSecond / perSecond))
        return overflow || overflows ? nil : count
    }

    /// Rounded down to whole milliseconds.
    package var inMilliseconds: EventTime {
        EventTime(seconds: seconds, nanoseconds: nanoseconds - nanoseconds % 1_000_000)
    }

    /// This time, shifted by the difference between `end` and `start`.
    package func moved(from start: EventTime, to end: EventTime) -> EventTime {
        // These times come from texts, so their differences fit 64 bits of seconds.
        var seconds = seconds &+ (end.seconds &- start.seconds)
        var nanoseconds = nanoseconds &+ (end.nanoseconds &- start.nanoseconds)
        if nanoseconds < 0 {
            nanoseconds += Self.nanosecondsPerSecond
            seconds &-= 1
        } else if nanoseconds >= Self.nanosecondsPerSecond {
            nanoseconds -= Self.nanosecondsPerSecond
            seconds &+= 1
        }
        return EventTime(seconds: seconds, nanoseconds: nanoseconds)
    }
}
