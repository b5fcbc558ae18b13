import Events

/// Holds events to a plan. One thread; its memory is kept from event to event.
package final class PlanChecker {
    private enum Step {
        case name(String)
        case item(Int)
    }

    /// What was wrong with the event that was looked at last, as much as may be listed.
    package private(set) var violations: [PlanViolation] = []
    /// How much was wrong with it, that which is not listed included.
    package private(set) var violationCount = 0
    /// Where the values begin that are to be taken out of it.
    private(set) var offenders: [Int] = []
    /// Whether a field of it stands there twice.
    private(set) var hasDuplicates = false
    /// `properties` or `traits` of it.
    private(set) var object = FieldValue.missing
    /// Its name, if it has one.
    private(set) var name: Slice?

    let rules: PlanRules
    private let limit: Int
    private let reader: PathReader
    private var fields: [FieldValue] = []
    /// The planned properties of the objects that are being looked at, the innermost one's last.
    private var found: [FieldValue] = []
    private var steps: [Step] = []
    /// What the event was held to; nil: its name is not planned.
    private var planned: PlannedObject?
    private var root = ""

    private static let paths = PathSet([FieldPath(["properties"]), FieldPath(["traits"]), FieldPath(["name"])])

    /// - Parameters:
    ///   - limit: violations that are listed for one event.
    ///   - maximumEventSize: of the events that it is given, in bytes.
    package init(_ rules: PlanRules, limit: Int, maximumEventSize: Int, maximumDepth: Int) {
        self.rules = rules
        self.limit = limit
        reader = PathReader(maximumEventSize: maximumEventSize, maximumDepth: maximumDepth)
    }

    /// Looks at an event that came through the door.
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
            _ = reader.read(Self.paths, from: json, into: &fields)
            isTraits = false
        case .page, .screen:
            guard let names = index.kind == .page ? rules.page : rules.screen else { return .conforms }
            _ = reader.read(Self.paths, from: json, into: &fields)
            name = fields[2].isString ? fields[2].slice : nil
            planned = object(of: names, isEscaped: fields[2].type == .escapedString, in: json)
            guard planned != nil else { return unplanned("name") }
            isTraits = false
        case .identify, .group:
            planned = index.kind == .identify ? rules.identify : rules.group
            guard planned != nil else { return .conforms }
            _ = reader.read(Self.paths, from: json, into: &fields)
            isTraits = true
        }
        hasDuplicates = reader.sawDuplicates
        root = isTraits ? "traits" : "properties"
        look(at: isTraits ? fields[1] : fields[0], json)
        return violationCount == 0 ? .conforms : .violates
    }

    /// Looks again at the event whose `properties` or `traits` lie elsewhere now. One whose name is not
    /// planned stays what it is.
    func recheck(_ json: Span<UInt8>, _ object: FieldValue) {
        guard planned != nil else { return }
        start()
        look(at: object, json)
    }

    private func start() {
        violations.removeAll(keepingCapacity: true)
        offenders.removeAll(keepingCapacity: true)
        violationCount = 0
    }

    private func look(at object: FieldValue, _ json: Span<UInt8>) {
        guard let planned else { return }
        self.object = object
        steps.append(.name(root))
        look(at: object, planned, json)
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
        // A page without a name is planned under the empty one.
        guard let name, name.length > 0 else { return names.object(named: [UInt8]().span) }
        guard isEscaped else { return names.object(named: json.extracting(name.range)) }
        return decode(json.extracting(name.range)).flatMap { names.object(named: $0.span) }
    }

    // MARK: Values

    /// - Parameter value: an object, or nothing where there is none.
    private func look(at value: FieldValue, _ planned: PlannedObject, _ json: Span<UInt8>) {
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
                look(at: value, planned.properties[number].value, json)
                steps.removeLast()
            }
        }
        found.removeLast(found.count - base)
    }

    /// A value that is there, and not null.
    private func look(at value: FieldValue, _ planned: PlannedValue, _ json: Span<UInt8>) {
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
            if holds { look(atItems: value, items, json) }
        case .object(let object):
            holds = value.type == .object
            if holds { look(at: value, object, json) }
        }
        if !holds { add(planned.expected, value, isOffender: true) }
    }

    private func look(atItems list: FieldValue, _ planned: PlannedValue, _ json: Span<UInt8>) {
        if case .any = planned.test { return }
        guard let range = list.json else { return }
        var cursor = ListCursor(range)
        var number = 0
        while let item = cursor.next(in: json) {
            steps.append(.item(number))
            if item.type == .null {
                add(planned.expected, item, isOffender: true)
            } else {
                look(at: item, planned, json)
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

    /// Of a text with escapes.
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
