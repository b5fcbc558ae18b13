import Events

/// One event as filters and transforms see it: its bytes, the index that admission built, and the values read from it.
/// It lives no longer than the bytes.
@safe struct EventView: ~Copyable, ~Escapable {
    /// The event's bytes.
    let json: Span<UInt8>
    /// The bytes in which the slices of values count: the event, and what follows it (`EventMemory`).
    let memory: Span<UInt8>
    let index: EventIndex
    // Not counted, because a view is made for each event. Its maker keeps the fields, as `@_lifetime` demands.
    private let held: Unmanaged<EventFields>
    let moment: EventMoment

    /// The values read from the event.
    @inline(__always)
    var fields: EventFields { unsafe held._withUnsafeGuaranteedRef { $0 } }

    @_lifetime(copy json, borrow fields)
    @inline(__always)
    init(json: Span<UInt8>, index: EventIndex, fields: borrowing EventFields, moment: EventMoment = EventMoment()) {
        self.json = json
        memory = json
        self.index = index
        unsafe held = .passUnretained(fields)
        self.moment = moment
    }

    /// - Parameter length: the number of bytes at the start of `memory` that are the event.
    @_lifetime(copy memory, borrow fields)
    init(memory: Span<UInt8>, length: Int, index: EventIndex, fields: borrowing EventFields, moment: EventMoment) {
        json = memory.extracting(0..<length)
        self.memory = memory
        self.index = index
        unsafe held = .passUnretained(fields)
        self.moment = moment
    }

    /// Another version of an event, with the same fields.
    @_lifetime(copy memory, copy original)
    init(memory: Span<UInt8>, length: Int, index: EventIndex, of original: borrowing EventView) {
        json = memory.extracting(0..<length)
        self.memory = memory
        self.index = index
        unsafe held = original.held
        moment = original.moment
    }

    @_lifetime(copy self)
    func copied() -> EventView {
        EventView(memory: memory, length: json.count, index: index, of: self)
    }

    /// The bytes that follow the event in its memory.
    var suffix: Span<UInt8> {
        @_lifetime(copy self)
        get { memory.extracting(json.count..<memory.count) }
    }

    @inline(__always)
    func value(_ path: Int) -> FieldValue {
        unsafe held._withUnsafeGuaranteedRef { $0.value(path, in: json, index.kind) }
    }

    /// Whether the event may have this key, at any depth. A search of its bytes usually shows that it does not, and it
    /// need not be read. Once it was read, its values are the quicker answer.
    /// - Parameter key: as JSON, including its quotes; without escapes.
    @inline(__always)
    func mayHave(_ key: Span<UInt8>) -> Bool { fields.isRead || JSONText.mayContain(key, in: json) }

    /// The value of a field that the index usually holds. If the index does not hold it, it is searched in the event.
    @inline(__always)
    func value(_ field: IndexedField) -> FieldValue {
        let (slice, isEscaped) = field.slice(in: index)
        if slice.isPresent { return FieldValue(slice: slice, type: isEscaped ? .escapedString : .string) }
        return index.flags.contains(.hasOtherValues) ? field.find(in: json) : .missing
    }

    /// Whether the event is an identify whose traits are in its context.
    func hasTraitsInContext(_ paths: TraitsPaths) -> Bool {
        TraitsPaths.areInContext(index.kind, value(paths.traits), value(paths.context))
    }

    /// - Precondition: the slice lies within the memory. The slices of its index and its fields do.
    @_lifetime(copy self)
    @inline(__always)
    func bytes(_ slice: Slice) -> Span<UInt8> { memory.extracting(slice.range) }
}

/// Where and when an event was received. Every read of the event gives the same values.
struct EventMoment: BitwiseCopyable, Sendable {
    /// The position in the journal.
    var position: UInt64 = 0
    /// When this host received it: rises along the journal. Nanoseconds since 1970-01-01 UTC.
    var receivedAt: Int64 = 0
    /// When the first host received it: what an event's `receivedAt` means.
    var firstReceivedAt: Int64 = 0

    init() {}

    init(position: UInt64, receivedAt: Int64, firstReceivedAt: Int64? = nil) {
        self.position = position
        self.receivedAt = receivedAt
        self.firstReceivedAt = firstReceivedAt ?? receivedAt
    }

    init(_ event: EventRecord) {
        self.init(position: event.position, receivedAt: event.receivedAt, firstReceivedAt: event.firstReceivedAt)
    }
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

    /// Whether it names a user. An empty string then counts as missing, as clients send it for nobody.
    var isIdentity: Bool { self == .userID || self == .anonymousID }

    /// The field's contents in an event, and whether they contain escapes.
    @inline(__always)
    func slice(in index: EventIndex) -> (slice: Slice, escaped: Bool) {
        switch self {
        case .event: (index.event, index.flags.contains(.eventEscaped))
        case .messageID: (index.messageID, index.flags.contains(.messageIDEscaped))
        case .userID: (Self.identity(index.userID), index.flags.contains(.userIDEscaped))
        case .anonymousID: (Self.identity(index.anonymousID), index.flags.contains(.anonymousIDEscaped))
        }
    }

    /// Journals of early versions hold indexes with empty ids.
    @inline(__always)
    private static func identity(_ slice: Slice) -> Slice { slice.length == 0 ? .absent : slice }

    /// Stores a field's value in an index.
    func set(_ value: FieldValue, in index: inout EventIndex) {
        if value.type == .missing || value.type == .null { return }
        if isIdentity, value.isString, value.slice.length == 0 { return }
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
        if isIdentity, found.isString, found.slice.length == 0 { return .missing }
        return found
    }
}

extension FieldPath {
    /// The event's kind, by the name that the client uses.
    static let type = FieldPath(["type"])
}
