import Events

/// A field of a request that each of its events receives: `context`, `integrations` and `sentAt` of a batch, or the
/// `type` that an endpoint implies.
struct SharedField {
    /// A comma, the key, a colon and the value.
    private let member: [UInt8]
    /// Where the value starts in `member`.
    private let start: Int
    /// The value, if it is an object whose members are merged.
    private var object: SharedObject?

    /// A field with the value of a batch.
    /// - Parameters:
    ///   - value: the value in `body`, which is valid JSON outside the batch's items.
    ///   - isMerged: whether an object is merged with the object of an event.
    /// - Returns: nil if the batch has no such field, or if it is null.
    init?(_ key: String, _ value: FieldValue, of body: Span<UInt8>, isMerged: Bool, _ reader: ObjectMembers) {
        guard value.type != .null, let json = value.json else { return nil }
        var member = Array(",\"\(key)\":".utf8)
        start = member.count
        member.append(contentsOf: body.extracting(json))
        self.member = member
        if isMerged, value.type == .object { object = SharedObject(json, of: body, reader) }
    }

    /// A field with a string for its value.
    init(_ key: String, _ text: String) {
        var member = Array(",\"\(key)\":".utf8)
        start = member.count
        JSONText.appendString(text, to: &member)
        self.member = member
    }

    /// The size of the value in bytes.
    var size: Int { member.count - start }

    /// Adds the field to an event that lacks it or has null for it. Merges objects. Any other value of the event stays.
    /// - Parameters:
    ///   - value: the event's own value, in `bytes`.
    ///   - item: the event's number in the request.
    ///   - body: the bytes that hold the field.
    /// - Returns: false if the event is not valid JSON.
    mutating func apply(
        to value: FieldValue, of bytes: Span<UInt8>, item: Int, body: Span<UInt8>, _ editor: inout EventEditor,
        _ reader: ObjectMembers
    ) -> Bool {
        switch value.type {
        case .missing:
            editor.add(member.span)
            return true
        case .null:
            let range = value.slice.range
            // Another word that starts with an n is a fault, which must not disappear.
            guard JSONText.text(bytes.extracting(range)) == "null" else { return false }
            return editor.replace(range) { output in
                output.append(contentsOf: member.span.extracting(start...))
                return true
            }
        case .object where object != nil:
            let range = value.slice.range
            guard bytes[range.upperBound - 1] == UInt8(ascii: "}") else { return false }
            let brace = range.upperBound - 1
            return editor.replace(brace..<brace) { output in
                object?.appendMembers(
                    missingIn: bytes.extracting(range), ofItem: item, from: body, to: &output, reader) ?? false
            }
        default:
            return true
        }
    }
}
