import Events

/// Enforces a plan: checks each event and decides whether to store, edit or reject it. One thread.
package final class PlanEnforcer {
    package enum OnViolation: Sendable {
        case allow, flag, strip, refuse
    }

    package enum Verdict: Sendable, Equatable {
        /// The event conforms to the plan.
        case pass
        /// The event violates the plan and is stored unchanged.
        case note(RefusalReason)
        /// The event violates the plan and is stored as in `edited`.
        case edit(RefusalReason)
        case refuse(Refusal)
    }

    /// The result of the last `.edit`: JSON without a line feed.
    package private(set) var edited: [UInt8] = []

    private let checker: PlanChecker
    private let onViolation: OnViolation
    private let maximumEventSize: Int
    private let maximumDepth: Int
    private let fields = PathReader(PlanEnforcer.paths)

    /// Nesting depth of `{"context":{"violations":[{`.
    private static let noteDepth = 4
    private static let paths = PathSet([
        FieldPath(["context"]), FieldPath(["context", "violations"]), FieldPath(["properties"]), TraitsPaths.traits,
        TraitsPaths.context,
    ])

    /// - Parameters:
    ///   - limit: maximum number of violations that an event or a refusal lists.
    ///   - maximumEventSize: maximum size of an event in bytes, including the list of violations.
    package init(
        _ rules: PlanRules, onViolation: OnViolation, limit: Int, maximumEventSize: Int, maximumDepth: Int
    ) {
        checker = PlanChecker(rules, limit: limit)
        self.onViolation = onViolation
        self.maximumEventSize = maximumEventSize
        self.maximumDepth = maximumDepth
    }

    /// - Parameters:
    ///   - json: an event that passed admission.
    ///   - index: the event's index.
    ///   - room: number of bytes by which the event may grow.
    package func judge(_ json: Span<UInt8>, _ index: EventIndex, room: Int = .max) -> Verdict {
        guard let reason = checker.check(json, index).reason else { return .pass }
        switch onViolation {
        case .allow: return .note(reason)
        case .refuse: return .refuse(PlanRefusal(checker, reason, index, json).refusal)
        case .flag, .strip: return edit(json, index, room) ? .edit(reason) : .note(reason)
        }
    }

    /// Fills `edited`.
    /// - Returns: false if the event can be neither stripped nor noted.
    private func edit(_ json: Span<UInt8>, _ index: EventIndex, _ room: Int) -> Bool {
        let limit = min(maximumEventSize, room > maximumEventSize ? maximumEventSize : json.count + room)
        let answer = fields.read(json)
        guard answer == .readFromDuplicates || checker.hasDuplicates else { return edit(json, limit) }
        // A field to strip or to note must occur only once, so remove duplicates. This is rare and slow. The check then
        // runs again to find the new offsets; an unplanned event has no offsets to find.
        let unique = UniqueMembers.copy(json)
        _ = fields.read(unique.span)
        let isTraits = index.kind == .identify || index.kind == .group
        checker.recheck(
            unique.span, isTraits ? TraitsPaths.value(fields[3], fields[4], of: index.kind) : fields[2])
        return edit(unique.span, limit)
    }

    private func edit(_ json: Span<UInt8>, _ limit: Int) -> Bool {
        let strips = onViolation == .strip && !checker.offenders.isEmpty
        let properties = strips ? checker.object.json : nil
        var list = maximumDepth < Self.noteDepth ? [] : checker.violations[...]
        // If the list makes the event too large, halve the list rather than lose the event.
        while true {
            guard !list.isEmpty || strips else { return false }
            edited.removeAll(keepingCapacity: true)
            write(json, without: properties, noting: list)
            if edited.count <= limit { return true }
            if list.isEmpty { return false }
            list = list.prefix(list.count / 2)
        }
    }

    /// Writes the event without the offending properties, if any, and with the list of violations.
    private func write(_ json: Span<UInt8>, without properties: Range<Int>?, noting list: ArraySlice<PlanViolation>) {
        let note = list.isEmpty ? nil : PlanNote(context: fields[0], violations: fields[1], json)
        var copied = 0
        func stripped(upTo end: Int) {
            guard let properties, copied <= properties.lowerBound, properties.upperBound <= end else { return }
            edited.append(contentsOf: json.extracting(copied..<properties.lowerBound))
            StrippedObject.append(properties, of: json, without: checker.offenders, to: &edited)
            copied = properties.upperBound
        }
        if let note {
            stripped(upTo: note.place.lowerBound)
            edited.append(contentsOf: json.extracting(copied..<note.place.lowerBound))
            note.append(list, strips: properties != nil, to: &edited)
            copied = note.place.upperBound
        }
        stripped(upTo: json.count)
        edited.append(contentsOf: json.extracting(copied..<json.count))
    }
}
