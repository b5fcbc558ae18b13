import Events

/// One violation of a plan. Never contains the value itself, which may be private.
package struct PlanViolation: Sendable, Equatable {
    /// Path of the property, such as `properties.products.0.sku`. For an unplanned event, the field with its name:
    /// `event` or `name`.
    package var property: String
    /// Description of the expected value: "a number, 0 or greater".
    package var expected: String
    /// Type of the value found: string, number, missing …
    package var found: String?
    /// Whether there is a value that can be stripped from the event.
    var isOffender = false
}

/// The result of checking an event against a plan.
package enum PlanFinding: Sendable, Equatable {
    case conforms
    /// The plan does not have the event's name.
    case unplanned
    case violates

    /// The reason used for refusals and counters.
    package var reason: RefusalReason? {
        switch self {
        case .conforms: nil
        case .unplanned: .unplanned
        case .violates: .schemaViolation
        }
    }
}

extension FieldType {
    /// The type's name in a violation.
    var planName: String {
        switch self {
        case .missing: "missing"
        case .null: "null"
        case .false, .true: "boolean"
        case .number: "number"
        case .string, .escapedString: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}
