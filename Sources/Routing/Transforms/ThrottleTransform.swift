import Events

/// `throttle: { events: 100, every: 1m, by: userId }`: passes at most `events` events in each period of length `every`,
/// for each value of the field, and drops the rest. Periods are aligned to the epoch and use the time of receipt: `1m`
/// means each whole minute of the clock.
///
/// The state is bounded: the `keys` most recent values, and the verdicts for about a million journal positions. After a
/// start or a configuration change it is rebuilt from the journal (`DestinationRouter.lookback`).
struct ThrottleTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "throttle", ThrottleTransform(),
        [
            Setting(
                "events", \.events, .integer(1...1_000_000_000), required: true,
                "maximum number of events in a period"),
            Setting("every", \.every, .duration(.milliseconds(1)...(.seconds(366 * 86_400))), "length of the period"),
            Setting(
                "by", \.by, .path, default: "all events together", "field; each of its values is counted separately"),
            Setting(
                "keys", \.keys, .integer(1...10_000_000), "maximum number of remembered values; the oldest is evicted"),
        ],
        example: "throttle: { events: 100, every: 1m, by: userId }",
        "limits the number of events in a period and drops the rest")

    var events = 0
    var every = Duration.seconds(1)
    var by: FieldPath?
    var keys = 10_000

    var reads: [FieldPath] { by.map { [$0] } ?? [] }
    var writes: [FieldPath] { [] }
    var lookback: Duration? { every }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        Editor(self, by.map { FieldKey($0, &binding) })
    }

    private struct Count: BitwiseCopyable {
        /// Index of the period since 1970.
        var time: Int64
        var events: Int
    }

    private final class Editor: EventEditor {
        private let limit: Int
        private let every: Int64
        private let key: FieldKey?
        private var counts: RecentKeys<Count>
        private var history = VerdictHistory()

        init(_ throttle: ThrottleTransform, _ key: FieldKey?) {
            limit = throttle.events
            every = max(1, throttle.every.nanoseconds)
            self.key = key
            counts = RecentKeys(limit: throttle.keys)
        }

        /// Events without the field share one count.
        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            let position = view.moment.position
            if let wasDropped = history.wasDropped(position) { return wasDropped ? .drop : .keep }
            var number = 0
            _ = key?.read(view) { number = RecentKeys<Count>.number($0, isText: $1) }
            let time = view.moment.receivedAt / every
            var count = counts[number] ?? Count(time: time, events: 0)
            if count.time != time { count = Count(time: time, events: 0) }
            let isDropped = count.events >= limit
            if !isDropped { count.events += 1 }
            counts.set(number, count)
            history.remember(position, dropped: isDropped)
            return isDropped ? .drop : .keep
        }
    }
}

extension Duration {
    /// Clamped to the range of `Int64`.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, overflows) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflows ? .max : sum
    }
}
