import ConfigurationLanguage

/// What a property's value has to be, while it is read.
struct ValueDraft: Sendable {
    enum ValueType: String, CaseIterable {
        case string, integer, number, boolean, dateTime = "date-time", array, object
    }

    var type: ValueType?
    var isRequired = false
    var choices: [YAMLNode]?
    var pattern: TrackingPlan.Pattern?
    var minimum: NumberDraft?
    var maximum: NumberDraft?
    /// One, in a box.
    var items: [ValueDraft]?
    var properties = PropertiesDraft()
    var about = TrackingPlan.About()

    struct NumberDraft: Sendable {
        /// As JSON writes it.
        var text: String
        var place: Place
    }

    /// - Parameter additional: what the plan says of properties that are not named.
    func value(_ additional: Bool) -> TrackingPlan.Value {
        switch type {
        case nil: .any
        case .string: .string(stringRule)
        case .integer, .number: .number(numberRule)
        case .boolean: .boolean
        case .dateTime: .dateTime
        case .array: .array(items: items?.first?.value(additional) ?? .any)
        // An object of which nothing is said is one of any kind.
        case .object: .object(properties.properties(properties.list == nil ? true : additional))
        }
    }

    private var stringRule: TrackingPlan.StringRule {
        if let choices {
            return .choice(
                choices.compactMap { choice in choice.scalar.map { .init(name: $0.text, place: choice.place) } })
        }
        return pattern.map { .pattern($0) } ?? .any
    }

    private var numberRule: TrackingPlan.NumberRule {
        TrackingPlan.NumberRule(
            isInteger: type == .integer, choices: choices?.compactMap { $0.scalar.flatMap(Self.number) },
            minimum: minimum?.text, maximum: maximum?.text)
    }

    static func number(_ scalar: YAMLScalar) -> String? { scalar.isPlain ? YAMLNumber.json(scalar.text) : nil }

    static func isWhole(_ number: String) -> Bool { Double(number).map { $0.rounded() == $0 } ?? false }
}

extension Section where Target == ValueDraft {
    /// Made when asked for, since a property may hold properties.
    static var value: Section {
        Section([
            Field("type", \.type, .choice, default: "any", "what kind of value it is"),
            Field("required", \.isRequired, .flag, "whether it has to be there"),
            Field("enum", \.choices, .list(.node, "values"), "the values that it may have: texts or numbers"),
            Field("pattern", \.pattern, .pattern, "a regular expression (RE2's) that is found in the text"),
            Field("minimum", \.minimum, .number, "the least number that it may be"),
            Field("maximum", \.maximum, .number, "the greatest number that it may be"),
            Field("items", \.items, .item, default: "any", "what an array's items are"),
            Field("properties", \.properties.list, .properties, default: "any", "an object's properties by their names"),
            Field(
                "additional", \.properties.additional, .flag, default: "the plan's",
                "whether an object may have properties that are not named"),
            Field("description", \.about.description, .prose, "what it means"),
            Field("deprecated", \.about.deprecation, .deprecation, "true, or what to use instead"),
        ])
    }
}

extension Kind where Value == ValueDraft {
    /// - Parameter owner: for messages.
    static func value(_ owner: String) -> Kind {
        Kind(.anything) { node, key, diagnostics in
            var draft = ValueDraft()
            // The type alone: `total: number`.
            if let scalar = node.scalar, !scalar.isNull {
                draft.type = Kind<ValueDraft.ValueType>.choice.read(node, key, diagnostics)
                return draft
            }
            let section = Section<ValueDraft>.value
            let found = section.read(node, named: owner, into: &draft, diagnostics)
            // A type that is wrong was told; what does not go with it would be guessed.
            if found["type"] == nil || draft.type != nil { draft.check(found, diagnostics) }
            return draft
        }
    }
}

extension ValueDraft {
    /// What only goes with some types.
    private static let belonging: [(key: String, types: [ValueType])] = [
        ("enum", [.string, .integer, .number]), ("pattern", [.string]), ("minimum", [.integer, .number]),
        ("maximum", [.integer, .number]), ("items", [.array]), ("properties", [.object]), ("additional", [.object]),
    ]

    fileprivate func check(_ found: [String: YAMLEntry], _ diagnostics: Diagnostics) {
        for (key, types) in Self.belonging {
            guard let entry = found[key], !(type.map(types.contains) ?? false) else { continue }
            let names = types.map(\.rawValue).joined(separator: ", ")
            diagnostics.error(
                at: entry.place, "\(quoted(key)) goes with the type \(names)",
                hint: type == nil ? "add type: \(types[0].rawValue)" : "remove it, or change the type")
        }
        if let pattern = found["pattern"], found["enum"] != nil {
            diagnostics.error(at: pattern.place, "enum and pattern at once", hint: "remove one of the two")
        }
        if let minimum, let maximum, let least = Double(minimum.text), let greatest = Double(maximum.text), least > greatest {
            diagnostics.error(
                at: minimum.place, "minimum (\(minimum.text)) is greater than maximum (\(maximum.text))",
                hint: "exchange the two", note: .init("maximum is set here", at: maximum.place))
        }
        checkChoices(found["enum"], diagnostics)
    }

    private func checkChoices(_ entry: YAMLEntry?, _ diagnostics: Diagnostics) {
        guard let entry, let choices else { return }
        if choices.isEmpty {
            diagnostics.error(at: entry.place, "\"enum\" names no value", hint: "name those that it may have, or remove it")
        }
        var seen: [String: Place] = [:]
        for choice in choices {
            if choice.scalar?.isReported == true { continue }
            guard let scalar = choice.scalar, !scalar.isNull, !scalar.isSecret else {
                diagnostics.error(at: choice.place, "a value of enum is a text or a number, not \(choice.found)")
                continue
            }
            let number = Self.number(scalar)
            if type == .integer || type == .number, number == nil {
                diagnostics.error(at: choice.place, "\(quoted(scalar.text)) is not a number", hint: "the type is \(type?.rawValue ?? "")")
            } else if type == .integer, let number, !Self.isWhole(number) {
                diagnostics.error(at: choice.place, "\(number) is not a whole number", hint: "use type: number")
            }
            let value = type == .string ? scalar.text : number ?? scalar.text
            if let first = seen.updateValue(choice.place, forKey: value) {
                diagnostics.error(
                    at: choice.place, "\(quoted(scalar.text)) stands twice in enum", hint: "remove one of the two",
                    note: .init("it stands first here", at: first))
            }
        }
    }
}
