import PenstockPluginKit

/// The end of a wait.
struct Deadline {
    private let end: ContinuousClock.Instant

    static func after(_ duration: Duration) -> Deadline { Deadline(end: .now + duration) }

    /// Negative after the deadline.
    var timeLeft: Duration { end - .now }

    /// Rounded up; 0: it has passed.
    var millisecondsLeft: Int32 {
        Int32(clamping: max(timeLeft + .nanoseconds(999_999), .zero).wholeMilliseconds)
    }
}
