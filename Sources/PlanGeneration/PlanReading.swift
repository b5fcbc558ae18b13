import ConfigurationSyntax
import TrackingPlan

extension PlanCode {
    /// - Parameter file: the plan's file. Its name is used if the plan has no name.
    init(_ plan: TrackingPlan, file: ConfigurationFile, _ diagnostics: Diagnostics) {
        let base = file.path.split(separator: "/").last.map(String.init) ?? file.path
        self.file = base
        let stem = base.split(separator: ".").first.map(String.init) ?? base
        name = SwiftName.type(plan.name?.name ?? stem, orElse: "Plan")
        var names = NameScope(of: name)

        func events(_ list: [TrackingPlan.Event]?, _ suffix: String) -> [EventCode] {
            (list ?? []).map { event in
                let type = SwiftName.type(event.name, orElse: "Event") + suffix
                names.claim(type, for: event.name, at: event.place, diagnostics)
                var code = StructCode(type, event.properties, diagnostics)
                code.documentation = event.about.paragraphs
                code.deprecation = event.about.deprecated
                return EventCode(
                    name: event.name, place: event.place, code: code,
                    method: SwiftName.member(event.name, orElse: "event"))
            }
        }
        self.events = events(plan.events, "")
        pages = events(plan.pages, "Page")
        screens = events(plan.screens, "Screen")
        func traits(_ properties: TrackingPlan.Properties?, _ type: String, _ text: String) -> StructCode? {
            properties.map { properties in
                names.claim(type, for: text, at: file.place(line: 1, column: 1), diagnostics)
                var code = StructCode(type, properties, diagnostics)
                code.documentation = [text + "."]
                return code
            }
        }
        userTraits = traits(plan.identify, "UserTraits", "Traits of a user")
        groupTraits = traits(plan.group, "GroupTraits", "Traits of a group")

        // Registries in the order in which their areas first occur.
        var areas: [(area: TrackingPlan.Named?, events: [EventCode])] = []
        for (event, code) in zip(plan.events ?? [], self.events) {
            if let index = areas.firstIndex(where: { $0.area?.name == event.area?.name }) {
                areas[index].events.append(code)
            } else {
                areas.append((event.area, [code]))
            }
        }
        registries = areas.map { area, codes in
            let place = area?.place ?? file.place(line: 1, column: 1)
            let type = area.map { SwiftName.type($0.name, orElse: "Area") + "Registry" } ?? "EventRegistry"
            names.claim(type, for: area?.name ?? "events without an area", at: place, diagnostics)
            var methods = NameScope(of: type)
            for code in codes { methods.claim(code.method, for: code.name, at: code.place, diagnostics) }
            return RegistryCode(name: type, area: area?.name, events: codes)
        }
    }
}

extension StructCode {
    fileprivate init(_ name: String, _ properties: TrackingPlan.Properties, _ diagnostics: Diagnostics) {
        self.name = name
        documentation = []
        allowsAdditional = properties.additional
        var members = NameScope(of: name)
        var types = NameScope(of: name)
        for property in properties.list {
            let member = SwiftName.member(property.name, orElse: "value")
            members.claim(member, for: property.name, at: property.place, diagnostics)
            let nested = SwiftName.type(property.name, orElse: "Value")
            let type = type(of: property.value, named: nested, for: property, &types, diagnostics)
            self.members.append(
                Member(
                    name: member, key: property.name, type: type, isRequired: property.isRequired,
                    documentation: property.about.paragraphs + property.value.constraints
                        + (property.isRequired ? property.about.deprecationText : []),
                    deprecation: property.about.deprecated))
        }
    }

    /// Returns the Swift type of a value, and declares a nested type if it needs one.
    private mutating func type(
        of value: TrackingPlan.Value, named name: String, for property: TrackingPlan.Property, _ types: inout NameScope,
        _ diagnostics: Diagnostics
    ) -> String {
        switch value {
        case .any: return "PropertyValue"
        case .string(.choice(let choices)):
            types.claim(name, for: property.name, at: property.place, diagnostics)
            var cases = NameScope(of: name)
            enums.append(
                EnumCode(
                    name: name,
                    cases: choices.map { choice in
                        let member = SwiftName.member(choice.name, orElse: "value")
                        cases.claim(member, for: choice.name, at: choice.place, diagnostics)
                        return (member, choice.name)
                    }))
            return name
        case .string: return "String"
        case .number(let rule): return rule.isInteger ? "Int" : "Double"
        case .boolean: return "Bool"
        case .dateTime: return "Date"
        case .array(let items):
            return "[" + type(of: items, named: name + "Item", for: property, &types, diagnostics) + "]"
        case .object(let properties) where properties.list.isEmpty && properties.additional:
            return "[String: PropertyValue]"
        case .object(let properties):
            types.claim(name, for: property.name, at: property.place, diagnostics)
            var code = StructCode(name, properties, diagnostics)
            code.documentation = ["`\(property.name)`"]
            structs.append(code)
            return name
        }
    }
}

extension TrackingPlan.About {
    fileprivate var paragraphs: [String] {
        let text = description.map { $0.split(whereSeparator: \.isNewline).joined(separator: "\n") }
        return text.map { $0.isEmpty ? [] : [$0] } ?? []
    }

    /// A sentence for the documentation of a required property. It is not marked as deprecated, because every caller
    /// has to pass it.
    fileprivate var deprecationText: [String] {
        deprecation.map { ["Deprecated" + ($0.message.map { ": \($0)" } ?? "") + "."] } ?? []
    }

    fileprivate var deprecated: String?? { deprecation.map { .some($0.message) } ?? .none }
}

extension TrackingPlan.Value {
    /// Constraints that the Swift type does not express, for the documentation.
    fileprivate var constraints: [String] {
        switch self {
        case .string(.pattern(let pattern)): return ["Matches `\(pattern.text)`."]
        case .number(let rule):
            var said: [String] = []
            if let choices = rule.choices { said.append("One of \(choices.joined(separator: ", ")).") }
            switch (rule.minimum, rule.maximum) {
            case (nil, nil): break
            case (let least?, nil): said.append("\(least) or greater.")
            case (nil, let greatest?): said.append("\(greatest) or less.")
            case (let least?, let greatest?): said.append("From \(least) to \(greatest).")
            }
            return said
        case .array(let items): return items.constraints.map { "Items: " + $0 }
        default: return []
        }
    }
}
