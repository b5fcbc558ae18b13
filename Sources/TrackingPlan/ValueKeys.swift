import ConfigurationSyntax

/// The rules for a property's value while they are read.
struct ValueDraft: Sendable {
    enum ValueType: String, CaseIterable {
        case string, integer, number, boolean
        case dateTime = "date-time"
        case array, object
    }

    var type: ValueType?
    var isRequired = false
    var choices: [YAMLNode]?
    var pattern: TrackingPlan.Pattern?
    var minimum: NumberDraft?
    var maximum: NumberDraft?
    /// At most one item. An array, because a struct cannot contain itself.
    var items: [ValueDraft]?
    var properties = PropertiesDraft()
    var about = TrackingPlan.About()

    struct NumberDraft: Sendable {
        /// The number as JSON text.
        var text: String
        var place: Place
    }

    /// - Parameter additional: the plan's default for unplanned properties.
    func value(_ additional: Bool) -> TrackingPlan.Value {
        switch type {
        case nil: .any
        case .string: .string(stringRule)
        case .integer, .number: .number(numberRule)
        case .boolean: .boolean
        case .dateTime: .dateTime
        case .array: .array(items: items?.first?.value(additional) ?? .any)
        // An object without rules allows any properties.
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
    /// Computed on each use, because a property may contain properties.
    static var value: Section {
        Section([
            Field("type", \.type, .choice, default: "any", "the type of the value"),
            Field("required", \.isRequired, .flag, "whether it is required"),
            Field("enum", \.choices, .list(.node, "values"), "the allowed values: texts or numbers"),
            Field("pattern", \.pattern, .pattern, "a regular expression (RE2) that matches a part of the text"),
            Field("minimum", \.minimum, .number, "the minimum of a number"),
            Field("maximum", \.maximum, .number, "the maximum of a number"),
            Field("items", \.items, .item, default: "any", "the type of an array's items, or its rules"),
            Field("properties", \.properties.list, .properties, default: "any", "an object's properties by name"),
            Field(
                "additional", \.properties.additional, .flag, default: "the plan's",
                "whether an object may have unplanned properties"),
            Field("description", \.about.description, .prose, "what it means"),
            Field("deprecated", \.about.deprecation, .deprecation, "true, or what to use instead"),
        ])
    }
}

extension Kind where Value == ValueDraft {
    /// - Parameter owner: the property's name in messages.
    static func value(_ owner: String) -> Kind {
        Kind(.anything) { node, key, diagnostics in
            var draft = ValueDraft()
            // The short form has only a type: `total: number`.
            if let scalar = node.scalar, !scalar.isNull {
                draft.type = Kind<ValueDraft.ValueType>.choice.read(node, key, diagnostics)
                return draft
            }
            let section = Section<ValueDraft>.value
            let found = section.read(node, named: owner, into: &draft, diagnostics)
            // If the type is invalid, it has been reported. Checking other keys against it would be a guess.
            if found["type"] == nil || draft.type != nil { draft.check(found, diagnostics) }
            return draft
        }
    }
}

extension ValueDraft {
    /// Keys that are valid for some types only.
    private static let belonging: [(key: String, types: [ValueType])] = [
        ("enum", [.string, .integer, .number]), ("pattern", [.string]), ("minimum", [.integer, .number]),
        ("maximum", [.integer, .number]), ("items", [.array]), ("properties", [.object]), ("additional", [.object]),
    ]

    fileprivate func check(_ found: [String: YAMLEntry], _ diagnostics: Diagnostics) {
        for (key, types) in Self.belonging {
            guard let entry = found[key], !(type.map(types.contains) ?? false) else { continue }
            let names = types.map(\.rawValue).joined(separator: ", ")
            diagnostics.error(
                at: entry.place, "\(quoted(key)) is allowed only for type \(names)",
                hint: type == nil ? "add type: \(types[0].rawValue)" : "remove it, or change the type")
        }
        if let pattern = found["pattern"], found["enum"] != nil {
            diagnostics.error(at: pattern.place, "enum and pattern exclude each other", hint: "remove one of the two")
        }
        if let minimum, let maximum, let least = Double(minimum.text), let greatest = Double(maximum.text),
            least > greatest
        {
            diagnostics.error(
                at: minimum.place, "minimum (\(minimum.text)) is greater than maximum (\(maximum.text))",
                hint: "swap the two", note: .init("maximum is set here", at: maximum.place))
        }
        checkChoices(found["enum"], diagnostics)
    }

    private func checkChoices(_ entry: YAMLEntry?, _ diagnostics: Diagnostics) {
        guard let entry, let choices else { return }
        if choices.isEmpty {
            diagnostics.error(at: entry.place, "\"enum\" has no values", hint: "list the allowed values, or remove it")
        }
        var seen: [String: Place] = [:]
        for choice in choices {
            if choice.scalar?.isReported == true { continue }
            guard let scalar = choice.scalar, !scalar.isNull, !scalar.isSecret else {
                diagnostics.error(at: choice.place, "a value of enum must be a text or a number, not \(choice.found)")
                continue
            }
            let number = Self.number(scalar)
            if type == .integer || type == .number, number == nil {
                diagnostics.error(
                    at: choice.place, "\(quoted(scalar.text)) is not a number",
                    hint: "the type is \(type?.rawValue ?? "")")
            } else if type == .integer, let number, !Self.isWhole(number) {
                diagnostics.error(at: choice.place, "\(number) is not a whole number", hint: "use type: number")
            }
            let value = type == .string ? scalar.text : number ?? scalar.text
            if let first = seen.updateValue(choice.place, forKey: value) {
                diagnostics.error(
                    at: choice.place, "\(quoted(scalar.text)) occurs twice in enum", hint: "remove one of the two",
                    note: .init("it occurs first here", at: first))
            }
        }
    }
}
