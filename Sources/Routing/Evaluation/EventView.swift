import Events

/// What a filter or a transform looks at: one event's bytes, what the door knows about them, and
/// the values read from them. Lives no longer than the bytes.
struct EventView: ~Escapable {
    let json: Span<UInt8>
    let index: EventIndex
    let fields: EventFields
    let moment: EventMoment

    @_lifetime(copy json)
    @inline(__always)
    init(json: Span<UInt8>, index: EventIndex, fields: EventFields, moment: EventMoment = EventMoment()) {
        self.json = json
        self.index = index
        self.fields = fields
        self.moment = moment
    }

    @inline(__always)
    func value(_ path: Int) -> FieldValue { fields.value(path, in: json) }

    /// The value of a field that the index mostly knows. What it does not know is looked for in the event.
    @inline(__always)
    func value(_ field: IndexedField) -> FieldValue {
        let (slice, isEscaped) = field.slice(in: index)
        if slice.isPresent { return FieldValue(slice: slice, type: isEscaped ? .escapedString : .string) }
        return index.flags.contains(.hasOtherValues) ? field.find(in: json) : .missing
    }

    /// - Precondition: the slice lies within the event, as those of its index and fields do.
    @_lifetime(copy self)
    @inline(__always)
    func bytes(_ slice: Slice) -> Span<UInt8> { json.extracting(slice.range) }
}

/// Where and when an event came in: the same each time it is read.
struct EventMoment: BitwiseCopyable, Sendable {
    /// In the journal.
    var position: UInt64 = 0
    /// Nanoseconds since 1970-01-01 UTC.
    var receivedAt: Int64 = 0
}

/// The fields whose place the event's index knows, so that nothing has to be read for them.
enum IndexedField: UInt8, BitwiseCopyable, Sendable, CaseIterable {
    case event, messageID, userID, anonymousID

    var path: FieldPath {
        switch self {
        case .event: FieldPath(["event"])
        case .messageID: FieldPath(["messageId"])
        case .userID: FieldPath(["userId"])
        case .anonymousID: FieldPath(["anonymousId"])
        }
    }

    init?(_ path: FieldPath) {
        guard let field = Self.allCases.first(where: { $0.path == path }) else { return nil }
        self = field
    }

    /// Its contents in an event, and whether they hold escapes.
    @inline(__always)
    func slice(in index: EventIndex) -> (slice: Slice, escaped: Bool) {
        switch self {
        case .event: (index.event, index.flags.contains(.eventEscaped))
        case .messageID: (index.messageID, index.flags.contains(.messageIDEscaped))
        case .userID: (index.userID, index.flags.contains(.userIDEscaped))
        case .anonymousID: (index.anonymousID, index.flags.contains(.anonymousIDEscaped))
        }
    }

    /// Enters a field's value into an index.
    func set(_ value: FieldValue, in index: inout EventIndex) {
        if value.type == .missing || value.type == .null { return }
        guard value.isString, self != .event || index.kind == .track else {
            index.flags.insert(.hasOtherValues)
            return
        }
        let flag: EventIndex.Flags
        switch self {
        case .event: (index.event, flag) = (value.slice, .eventEscaped)
        case .messageID: (index.messageID, flag) = (value.slice, .messageIDEscaped)
        case .userID: (index.userID, flag) = (value.slice, .userIDEscaped)
        case .anonymousID: (index.anonymousID, flag) = (value.slice, .anonymousIDEscaped)
        }
        if value.type == .escapedString { index.flags.insert(flag) }
    }

    /// Its value by a walk through the event's members, of which the last one of a name counts.
    fileprivate func find(in json: Span<UInt8>) -> FieldValue {
        let name = path.segments[0].utf8.span
        var found = FieldValue.missing
        var members = ObjectCursor(0..<json.count)
        while let member = members.next(in: json) {
            if JSONText.contents(json.extracting(member.key.range), equal: name) { found = member.value }
        }
        return found
    }
}

extension FieldPath {
    /// The event's kind, by the name the client gives it.
    static let type = FieldPath(["type"])
}
