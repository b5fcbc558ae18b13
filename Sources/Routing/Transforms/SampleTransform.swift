import Events

/// `sample: { share: 10%, by: userId }`: passes a share of the events. The field's value alone decides, so either all
/// or none of a user's events pass, on every host and at any time.
struct SampleTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "sample", SampleTransform(), shorthand: "share",
        [
            Setting("share", \.share, .number(0...1), required: true, "the share that passes: 0.1, or 10%"),
            Setting("by", \.by, .path, default: "userId, else anonymousId", "field whose value decides"),
        ],
        example: "sample: { share: 10%, by: userId }", "passes a share of the events, chosen by the value of a field")

    var share = 1.0
    var by: FieldPath?

    var reads: [FieldPath] { keys }
    var writes: [FieldPath] { [] }

    private var keys: [FieldPath] { by.map { [$0] } ?? [IndexedField.userID.path, IndexedField.anonymousID.path] }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        // 53 bits, so that a double represents every limit exactly.
        Editor(keys.map { FieldKey($0, &binding) }, limit: UInt64(share * 0x1p53))
    }

    private final class Editor: EventEditor {
        let keys: [FieldKey]
        let limit: UInt64

        init(_ keys: [FieldKey], limit: UInt64) {
            self.keys = keys
            self.limit = limit
        }

        /// The position decides for an event without the field.
        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            var hash = StableHash()
            var isFound = false
            for key in keys where !isFound { isFound = key.read(view) { value, _ in hash.add(value) } }
            if !isFound { hash.add(view.moment.position) }
            return hash.value >> 11 < limit ? .keep : .drop
        }
    }
}
