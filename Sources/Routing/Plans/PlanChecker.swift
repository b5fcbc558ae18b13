import Events

/// Checks events against a plan. One thread. Memory is reused between events.
package final class PlanChecker {
    private enum Step {
        case name(String)
        case item(Int)
    }

    /// Violations of the last event, at most `limit`.
    package private(set) var violations: [PlanViolation] = []
    /// Number of violations of the last event, including those that are not listed.
    package private(set) var violationCount = 0
    /// Start offsets of the values to strip from the event.
    private(set) var offenders: [Int] = []
    /// Whether the event has a duplicate field.
    private(set) var hasDuplicates = false
    /// The event's `properties` or `traits`, which may be in its context.
    private(set) var object = FieldValue.missing
    /// The event's name, if it has one.
    private(set) var name: Slice?

    let rules: PlanRules
    private let limit: Int
    private let fields = PathReader(PlanChecker.paths)
    /// Values of the planned properties of the objects under inspection, the innermost object last.
    private var found: [FieldValue] = []
    private var steps: [Step] = []
    /// The plan for the event; nil: the plan does not have the event's name.
    private var planned: PlannedObject?
    private var root = ""

    private static let paths = PathSet([
        FieldPath(["properties"]), TraitsPaths.traits, FieldPath(["name"]), TraitsPaths.context,
    ])

    /// - Parameter limit: maximum number of violations listed for one event.
    package init(_ rules: PlanRules, limit: Int) {
        self.rules = rules
        self.limit = limit
    }

    /// Checks an event that passed admission.
    package func check(_ json: Span<UInt8>, _ index: EventIndex) -> PlanFinding {
        start()
        hasDuplicates = false
        let isTraits: Bool
        switch index.kind {
        case .alias: return .conforms
        case .track:
            guard let names = rules.track else { return .conforms }
            name = index.event
            planned = object(of: names, isEscaped: index.flags.contains(.eventEscaped), in: json)
            guard planned != nil else { return unplanned("event") }
            read(json)
            isTraits = false
        case .page, .screen:
            guard let names = index.kind == .page ? rules.page : rules.screen else { return .conforms }
            read(json)
            name = fields[2].isString ? fields[2].slice : nil
            planned = object(of: names, isEscaped: fields[2].type == .escapedString, in: json)
            guard planned != nil else { return unplanned("name") }
            isTraits = false
        case .identify, .group:
            planned = index.kind == .identify ? rules.identify : rules.group
            guard planned != nil else { return .conforms }
            read(json)
            isTraits = true
        }
        root = isTraits ? "traits" : "properties"
        check(at: isTraits ? TraitsPaths.value(fields[1], fields[3], of: index.kind) : fields[0], json)
        return violationCount == 0 ? .conforms : .violates
    }

    private func read(_ json: Span<UInt8>) {
        hasDuplicates = fields.read(json) == .readFromDuplicates
    }

    /// Checks the last event again after its `properties` or `traits` have moved. Does nothing for an unplanned event.
    func recheck(_ json: Span<UInt8>, _ object: FieldValue) {
        guard planned != nil else { return }
        start()
        check(at: object, json)
    }

    private func start() {
        violations.removeAll(keepingCapacity: true)
        offenders.removeAll(keepingCapacity: true)
        violationCount = 0
    }

    private func check(at object: FieldValue, _ json: Span<UInt8>) {
        guard let planned else { return }
        self.object = object
        steps.append(.name(root))
        check(at: object, planned, json)
        steps.removeAll(keepingCapacity: true)
    }

    private func unplanned(_ field: String) -> PlanFinding {
        object = .missing
        violationCount = 1
        violations.append(PlanViolation(property: field, expected: "a name that the plan has"))
        return .unplanned
    }

    private func object(
        of names: PlannedNames, isEscaped: Bool, in json: Span<UInt8>
    ) -> PlannedObject? {
        // The plan lists a page without a name under the empty name.
        guard let name, name.length > 0 else { return names.object(named: [UInt8]().span) }
        guard isEscaped else { return names.object(named: json.extracting(name.range)) }
        return decode(json.extracting(name.range)).flatMap { names.object(named: $0.span) }
    }

    // MARK: Values

    /// Checks an object. A value of another type counts as an object without members.
    private func check(at value: FieldValue, _ planned: PlannedObject, _ json: Span<UInt8>) {
        if planned.isFree { return }
        let base = found.count
        for _ in planned.properties { found.append(.missing) }
        if value.type == .object, let range = value.json {
            var cursor = ObjectCursor(range)
            while let member = cursor.next(in: json) {
                let key = json.extracting(member.key.range)
                guard let number = number(of: key, isEscaped: member.isKeyEscaped, in: planned) else {
                    if !planned.allowsAdditional { add(unnamed: key, member.value) }
                    continue
                }
                if found[base + number].type != .missing { hasDuplicates = true }
                found[base + number] = member.value
            }
        }
        for number in planned.properties.indices {
            let value = found[base + number]
            if value.type == .missing || value.type == .null {
                if planned.properties[number].isRequired {
                    steps.append(.name(planned.properties[number].name))
                    add(planned.properties[number].value.expected, value, isOffender: false)
                    steps.removeLast()
                }
            } else {
                steps.append(.name(planned.properties[number].name))
                check(at: value, planned.properties[number].value, json)
                steps.removeLast()
            }
        }
        found.removeLast(found.count - base)
    }

    /// Checks a value that is present and not null.
    private func check(at value: FieldValue, _ planned: PlannedValue, _ json: Span<UInt8>) {
        let holds: Bool
        switch planned.test {
        case .any: return
        case .string: holds = value.isString
        case .choice(let choices): holds = text(value, json) { choices.contains($0) }
        case .pattern(let pattern): holds = text(value, json) { pattern.matches($0) }
        case .dateTime: holds = text(value, json) { Timestamp.parse($0) != nil }
        case .number(let number): holds = value.type == .number && number.holds(json.extracting(value.slice.range))
        case .boolean: holds = value.type == .true || value.type == .false
        case .array(let items):
            holds = value.type == .array
            if holds { check(atItems: value, items, json) }
        case .object(let object):
            holds = value.type == .object
            if holds { check(at: value, object, json) }
        }
        if !holds { add(planned.expected, value, isOffender: true) }
    }

    private func check(atItems list: FieldValue, _ planned: PlannedValue, _ json: Span<UInt8>) {
        if case .any = planned.test { return }
        guard let range = list.json else { return }
        var cursor = ListCursor(range)
        var number = 0
        while let item = cursor.next(in: json) {
            steps.append(.item(number))
            if item.type == .null {
                add(planned.expected, item, isOffender: true)
            } else {
                check(at: item, planned, json)
            }
            steps.removeLast()
            number += 1
        }
    }

    private func text(_ value: FieldValue, _ json: Span<UInt8>, _ holds: (Span<UInt8>) -> Bool) -> Bool {
        guard value.isString else { return false }
        let contents = json.extracting(value.slice.range)
        if value.type == .string { return holds(contents) }
        return decode(contents).map { holds($0.span) } ?? false
    }

    private func number(of key: Span<UInt8>, isEscaped: Bool, in planned: PlannedObject) -> Int? {
        guard isEscaped else { return planned.names.number(of: key) }
        return decode(key).flatMap { planned.names.number(of: $0.span) }
    }

    /// Decodes contents of a JSON string that has escapes.
    private func decode(_ contents: Span<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        return JSONText.unescape(contents, into: &decoded) ? decoded : nil
    }

    // MARK: Violations

    private func add(unnamed key: Span<UInt8>, _ value: FieldValue) {
        steps.append(.name(PlannedValue.short(JSONText.string(key) ?? "", 100)))
        add("a name that the plan has", value, isOffender: true)
        steps.removeLast()
    }

    private func add(_ expected: String, _ value: FieldValue, isOffender: Bool) {
        violationCount += 1
        if isOffender, let range = value.json { offenders.append(range.lowerBound) }
        guard violations.count < limit else { return }
        let path = steps.map { step in
            switch step {
            case .name(let name): name
            case .item(let number): String(number)
            }
        }
        violations.append(
            PlanViolation(
                property: PlannedValue.short(path.joined(separator: "."), 200), expected: expected,
                found: value.type.planName, isOffender: isOffender))
    }
}
