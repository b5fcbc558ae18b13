import Routing
import TrackingPlan

extension TrackingPlan {
    /// The rules that Routing checks events against.
    /// - Returns: nil if a regular expression is invalid, which is then in `diagnostics`.
    package func rules(_ diagnostics: Diagnostics) -> PlanRules? {
        var compiler = PlanCompiler(diagnostics: diagnostics)
        let rules = PlanRules(
            track: events.map { compiler.names($0) }, page: pages.map { compiler.names($0) },
            screen: screens.map { compiler.names($0) }, identify: identify.map { compiler.object($0) },
            group: group.map { compiler.object($0) })
        return compiler.isValid ? rules : nil
    }
}

private struct PlanCompiler {
    let diagnostics: Diagnostics
    var isValid = true

    mutating func names(_ events: [TrackingPlan.Event]) -> PlannedNames {
        PlannedNames(events.map { ($0.name, object($0.properties)) })
    }

    mutating func object(_ properties: TrackingPlan.Properties) -> PlannedObject {
        PlannedObject(
            properties.list.compactMap { property in
                value(property.value).map { .init(name: property.name, value: $0, isRequired: property.isRequired) }
            },
            allowsAdditional: properties.additional)
    }

    private mutating func value(_ value: TrackingPlan.Value) -> PlannedValue? {
        var node: YAMLNode?
        let rule: PlannedValue.Rule
        switch value {
        case .any: rule = .any
        case .string(.any): rule = .string
        case .string(.choice(let choices)): rule = .choice(choices.map(\.name))
        case .string(.pattern(let pattern)):
            node = pattern.node
            rule = .pattern(pattern.text)
        case .number(let number):
            rule = .number(
                isInteger: number.isInteger, choices: number.choices, minimum: number.minimum, maximum: number.maximum)
        case .boolean: rule = .boolean
        case .dateTime: rule = .dateTime
        case .array(let items):
            guard let items = self.value(items) else { return nil }
            rule = .array(of: items)
        case .object(let properties): rule = .object(object(properties))
        }
        do throws(FilterError) {
            return try PlannedValue(rule)
        } catch {
            isValid = false
            if let node { diagnostics.error(at: node.place(of: error), error.message, hint: error.hint) }
            return nil
        }
    }
}
