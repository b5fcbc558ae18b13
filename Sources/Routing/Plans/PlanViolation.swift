import Events

/// One thing in an event that is not as planned. Never the value itself.
package struct PlanViolation: Sendable, Equatable {
    /// Where: `properties.products.0.sku`; of an event that is not planned, its kind's `event` or `name`.
    package var property: String
    /// In words: "a number, 0 or greater".
    package var expected: String
    /// What kind of value was there: string, number, missing…
    package var found: String?
    /// There is a value that could be taken out of the event.
    var isOffender = false
}

/// What a plan says about an event.
package enum PlanFinding: Sendable, Equatable {
    case conforms
    /// Its name is not in the plan.
    case unplanned
    case violates

    /// As refused and counted events name it.
    package var reason: RefusalReason? {
        switch self {
        case .conforms: nil
        case .unplanned: .unplanned
        case .violates: .schemaViolation
        }
    }
}

extension FieldType {
    /// As a violation names it.
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
