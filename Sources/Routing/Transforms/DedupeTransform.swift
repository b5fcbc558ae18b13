import Events

/// `dedupe: { by: messageId, within: 1h }`: drops an event if the last event that passed with the same value was
/// received at most `within` earlier. An event without the field, or with an empty text in it, passes.
///
/// The state is bounded: the `keys` most recent values, and the verdicts for about a million journal positions. After a
/// start or a configuration change it is rebuilt from the journal, from `within` before the cursor
/// (`DestinationRouter.lookback`). If a value repeats for longer than that, a different one of its events may then
/// pass.
struct DedupeTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "dedupe", DedupeTransform(), shorthand: "by",
        [
            Setting("by", \.by, .path, "field whose value identifies an event"),
            Setting(
                "within", \.within, .duration(.milliseconds(1)...(.seconds(366 * 86_400))),
                "maximum time since the last event that passed, by the time of receipt"),
            Setting(
                "keys", \.keys, .integer(1...10_000_000), "maximum number of remembered values; the oldest is evicted"),
        ],
        example: "dedupe: { by: messageId, within: 1h }", "drops repeated events")

    var by = IndexedField.messageID.path
    var within = Duration.seconds(3600)
    var keys = 100_000

    func check() -> [TransformError] {
        guard by.segments.count == 1, by.segments[0].utf8.first?.isDigit == true else { return [] }
        return [TransformError(["by"], "\(by) is not a field of an event", hint: "for a time, write within: \(by)")]
    }

    var reads: [FieldPath] { [by] }
    var writes: [FieldPath] { [] }
    var lookback: Duration? { within }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor { Editor(self, FieldKey(by, &binding)) }

    private struct First: BitwiseCopyable {
        var position: UInt64
        var receivedAt: Int64
    }

    private final class Editor: EventEditor {
        private let key: FieldKey
        private let within: Int64
        private var seen: RecentKeys<First>
        private var history = VerdictHistory()

        init(_ dedupe: DedupeTransform, _ key: FieldKey) {
            self.key = key
            within = dedupe.within.nanoseconds
            seen = RecentKeys(limit: dedupe.keys)
        }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            let (position, receivedAt) = (view.moment.position, view.moment.receivedAt)
            if let wasDropped = history.wasDropped(position) { return wasDropped ? .drop : .keep }
            var number: Int?
            _ = key.read(view) { value, isText in
                // Senders without an id may send an empty one. They would all be duplicates of the first.
                if !value.isEmpty { number = RecentKeys<First>.number(value, isText: isText) }
            }
            guard let number else { return .keep }
            var isDropped = false
            if let first = seen[number], first.position < position {
                let (age, overflow) = receivedAt.subtractingReportingOverflow(first.receivedAt)
                isDropped = !overflow && age <= within
            }
            if !isDropped { seen.set(number, First(position: position, receivedAt: receivedAt)) }
            history.remember(position, dropped: isDropped)
            return isDropped ? .drop : .keep
        }
    }
}
