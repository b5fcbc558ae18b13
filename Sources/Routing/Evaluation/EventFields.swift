import Events

/// Reads the values of a path table's paths from one event after another. An event is read once, when the first value
/// is needed. Filters that look only at the type and the name never read it. One thread.
final class EventFields {
    private let values: PathReader
    private let rules: [(number: Int, rule: ReadingRule)]
    private var state = State()
    /// The values of `context.penstock`, whose text follows the event in its view's memory. Nil: they are not known.
    var origin: OriginValues?
    /// Whether a value of `context.penstock` is read.
    let readsOrigin: Bool

    /// The state for the current event. It is one struct, so that the next event resets it in one step.
    private struct State: BitwiseCopyable {
        /// The stored values were read.
        var isRead = false
        /// The values that rules make are in place, too.
        var isComplete = false
        var isUnreadable = false
        var hasDuplicates = false
        /// How often its bytes were searched.
        var searches: UInt8 = 0
    }

    /// A search takes about a seventh of the time that reading an event takes, so a few are worth trying.
    private static let maximumSearches: UInt8 = 2

    init(_ table: PathTable) {
        values = PathReader(PathSet(table.paths))
        rules = table.rules
        readsOrigin = rules.contains { if case .origin = $0.rule { true } else { false } }
    }

    /// Starts the next event, or another version of the same event.
    @inline(__always)
    func startEvent() { state = State() }

    /// The event's bytes are not JSON after all. Its values count as missing. Known only once the event was read.
    @inline(__always)
    var isUnreadable: Bool { state.isUnreadable }
    /// A value that was read has a duplicate key before it in the event.
    var hasDuplicates: Bool { state.hasDuplicates }

    /// The stored values were read: a value costs no more than a look.
    @inline(__always)
    var isRead: Bool { state.isRead }

    /// Takes one of the searches of the event's bytes that may make it unnecessary to read the event.
    /// - Returns: false: the event was read, or has been searched often enough.
    @inline(__always)
    func takeSearch() -> Bool {
        guard !state.isRead, state.searches < Self.maximumSearches else { return false }
        state.searches += 1
        return true
    }

    /// - Parameter kind: the event's kind.
    @inline(__always)
    func value(_ path: Int, in json: Span<UInt8>, _ kind: EventKind) -> FieldValue {
        if !state.isComplete { complete(json, kind) }
        return values[path]
    }

    /// The value at a path that has no rule. The event's kind need not be known.
    func stored(_ path: Int, in json: Span<UInt8>) -> FieldValue {
        if !state.isRead { read(json) }
        return values[path]
    }

    /// Reads the stored values and applies the rules to them.
    private func complete(_ json: Span<UInt8>, _ kind: EventKind) {
        if !state.isRead { read(json) }
        state.isComplete = true
        for (number, rule) in rules {
            switch rule {
            case .identity:
                if values[number].isString, values[number].slice.length == 0 { values.replace(number, with: .missing) }
            case .traits(let paths, let twin):
                if TraitsPaths.areInContext(kind, values[paths.traits], values[paths.context]) {
                    values.replace(number, with: values[twin])
                }
            case .origin(let field):
                values.replace(number, with: origin?.value(field, from: json.count) ?? .missing)
            }
        }
    }

    private func read(_ json: Span<UInt8>) {
        state.isRead = true
        switch values.read(json) {
        case .read: break
        case .readFromDuplicates: state.hasDuplicates = true
        case .unreadable: state.isUnreadable = true
        }
    }
}
