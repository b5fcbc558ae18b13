import Events

/// `throttle: { events: 100, every: 1m, by: userId }`: at most so many events in each minute (by the
/// time of receipt: in each whole minute of the clock), of each user. What is above is dropped.
///
/// It remembers the `keys` seen last, and about a million positions of the journal. What it remembers comes from the
/// journal again when the daemon starts or the configuration changes (`DestinationRouter.lookback`).
struct ThrottleTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "throttle", ThrottleTransform(),
        [
            Setting("events", \.events, .integer(1...1_000_000_000), required: true, "how many may pass"),
            Setting("every", \.every, .duration(.milliseconds(1)...(.seconds(366 * 86_400))), "in which time"),
            Setting("by", \.by, .path, default: "all events together", "field whose values are counted apart"),
            Setting("keys", \.keys, .integer(1...10_000_000), "how many values are remembered; the oldest goes first"),
        ],
        example: "throttle: { events: 100, every: 1m, by: userId }", "lets so many events pass in a time, and drops the others")

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
        /// The number of the time since 1970.
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

        /// Events without the field are counted together.
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
    /// Held at the largest number that fits.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, overflows) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflows ? .max : sum
    }
}
