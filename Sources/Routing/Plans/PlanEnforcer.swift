import Events

/// What a plan makes of events. One thread.
package final class PlanEnforcer {
    package enum OnViolation: Sendable {
        case allow, flag, strip, refuse
    }

    package enum Verdict: Sendable, Equatable {
        /// As planned.
        case pass
        /// Not as planned, and stored as it came.
        case note(RefusalReason)
        /// To be stored as `edited` has it.
        case edit(RefusalReason)
        case refuse(Refusal)
    }

    /// The event of the last `.edit`: JSON, no line feed.
    package private(set) var edited: [UInt8] = []

    private let checker: PlanChecker
    private let onViolation: OnViolation
    private let maximumEventSize: Int
    private let maximumDepth: Int
    private let reader: PathReader
    private var fields: [FieldValue] = []

    /// `{"context":{"violations":[{` is four deep.
    private static let noteDepth = 4
    private static let paths = PathSet([
        FieldPath(["context"]), FieldPath(["context", "violations"]), FieldPath(["properties"]), FieldPath(["traits"]),
    ])

    /// - Parameters:
    ///   - limit: violations that an event or a refusal lists.
    ///   - maximumEventSize: bytes of an event; one that is noted in keeps to it, too.
    package init(
        _ rules: PlanRules, onViolation: OnViolation, limit: Int, maximumEventSize: Int, maximumDepth: Int
    ) {
        checker = PlanChecker(rules, limit: limit, maximumEventSize: maximumEventSize, maximumDepth: maximumDepth)
        self.onViolation = onViolation
        self.maximumEventSize = maximumEventSize
        self.maximumDepth = maximumDepth
        reader = PathReader(maximumEventSize: maximumEventSize, maximumDepth: maximumDepth)
    }

    /// - Parameters:
    ///   - json: an event that the door accepted.
    ///   - index: its index.
    ///   - room: bytes by which it may grow.
    package func judge(_ json: Span<UInt8>, _ index: EventIndex, room: Int = .max) -> Verdict {
        guard let reason = checker.check(json, index).reason else { return .pass }
        switch onViolation {
        case .allow: return .note(reason)
        case .refuse: return .refuse(PlanRefusal(checker, reason, index, json).refusal)
        case .flag, .strip: return edit(json, index, room) ? .edit(reason) : .note(reason)
        }
    }

    /// Makes `edited`.
    /// - Returns: false if there is nothing that can be done with the event.
    private func edit(_ json: Span<UInt8>, _ index: EventIndex, _ room: Int) -> Bool {
        let limit = min(maximumEventSize, room > maximumEventSize ? maximumEventSize : json.count + room)
        _ = reader.read(Self.paths, from: json, into: &fields)
        guard reader.sawDuplicates || checker.hasDuplicates else { return edit(json, limit) }
        // What is taken out, or noted, must not stand there twice. Rare, and slow. Found again where it
        // is now; an event that is not planned has no more to be found.
        let unique = UniqueMembers.copy(json)
        _ = reader.read(Self.paths, from: unique.span, into: &fields)
        checker.recheck(unique.span, index.kind == .identify || index.kind == .group ? fields[3] : fields[2])
        return edit(unique.span, limit)
    }

    private func edit(_ json: Span<UInt8>, _ limit: Int) -> Bool {
        let strips = onViolation == .strip && !checker.offenders.isEmpty
        let properties = strips ? checker.object.json : nil
        var list = maximumDepth < Self.noteDepth ? [] : checker.violations[...]
        // A list that makes the event too large is cut, for the event is not to be lost by it.
        while true {
            guard !list.isEmpty || strips else { return false }
            edited.removeAll(keepingCapacity: true)
            write(json, without: properties, noting: list)
            if edited.count <= limit { return true }
            if list.isEmpty { return false }
            list = list.prefix(list.count / 2)
        }
    }

    /// The event with its properties stripped, if there is something to strip, and the list.
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
