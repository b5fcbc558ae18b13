import Events

/// One event as filters and transforms see it: its bytes, the index that admission built, and the values read from it.
/// It lives no longer than the bytes.
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

    /// The value of a field that the index usually holds. If the index does not hold it, it is searched in the event.
    @inline(__always)
    func value(_ field: IndexedField) -> FieldValue {
        let (slice, isEscaped) = field.slice(in: index)
        if slice.isPresent { return FieldValue(slice: slice, type: isEscaped ? .escapedString : .string) }
        return index.flags.contains(.hasOtherValues) ? field.find(in: json) : .missing
    }

    /// - Precondition: the slice lies within the event. The slices of its index and its fields do.
    @_lifetime(copy self)
    @inline(__always)
    func bytes(_ slice: Slice) -> Span<UInt8> { json.extracting(slice.range) }
}

/// Where and when an event was received. Every read of the event gives the same values.
struct EventMoment: BitwiseCopyable, Sendable {
    /// The position in the journal.
    var position: UInt64 = 0
    /// Nanoseconds since 1970-01-01 UTC.
    var receivedAt: Int64 = 0
}

/// Fields whose places the event's index holds, so that the event need not be read for them.
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

    /// The field's contents in an event, and whether they contain escapes.
    @inline(__always)
    func slice(in index: EventIndex) -> (slice: Slice, escaped: Bool) {
        switch self {
        case .event: (index.event, index.flags.contains(.eventEscaped))
        case .messageID: (index.messageID, index.flags.contains(.messageIDEscaped))
        case .userID: (index.userID, index.flags.contains(.userIDEscaped))
        case .anonymousID: (index.anonymousID, index.flags.contains(.anonymousIDEscaped))
        }
    }

    /// Stores a field's value in an index.
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

    /// Finds the value by a walk over the event's members. The last of several duplicates counts.
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
    /// The event's kind, by the name that the client uses.
    static let type = FieldPath(["type"])
}
