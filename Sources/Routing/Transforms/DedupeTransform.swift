import Events

/// `dedupe: { by: messageId, within: 1h }`: drops an event if one with the same value came before, not
/// longer ago than that. One without the field passes.
///
/// It remembers the `keys` seen last, and about a million positions of the journal. What it remembers comes from the
/// journal again when the daemon starts or the configuration changes (`DestinationRouter.lookback`), from `within` before
/// it goes on: of a value that comes again and again for longer than that, the next one may then pass at another time.
struct DedupeTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "dedupe", DedupeTransform(), shorthand: "by",
        [
            Setting("by", \.by, .path, "field that tells events apart"),
            Setting(
                "within", \.within, .duration(.milliseconds(1)...(.seconds(366 * 86_400))),
                "how long ago the first one may have come, by the time of receipt"),
            Setting("keys", \.keys, .integer(1...10_000_000), "how many values are remembered; the oldest goes first"),
        ],
        example: "dedupe: { by: messageId, within: 1h }", "drops events that came before")

    var by = IndexedField.messageID.path
    var within = Duration.seconds(3600)
    var keys = 100_000

    func check() -> [TransformError] {
        guard by.segments.count == 1, by.segments[0].utf8.first?.isDigit == true else { return [] }
        return [TransformError(["by"], "\(by) is no field of an event", hint: "for a time, write within: \(by)")]
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
            _ = key.read(view) { number = RecentKeys<First>.number($0, isText: $1) }
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
