// Plans: check events against a tracking plan, and strip the values that violate it.
//
// - All functions are pure functions of an event. An event that conforms costs one fetch, one pass over its properties
//   and no allocation.
// - A violation names the property, the expected value and the type of the value found. It never contains the value,
//   which may be private.
// - If a key occurs twice, the last one counts, as everywhere in Penstock.

import Events

/// A compiled tracking plan. Immutable; usable from any thread.
package final class PlanRules: Sendable {
    let track: PlannedNames?
    let page: PlannedNames?
    let screen: PlannedNames?
    let identify: PlannedObject?
    let group: PlannedObject?

    /// - Parameters: nil means that events of that kind are not checked.
    package init(
        track: PlannedNames?, page: PlannedNames?, screen: PlannedNames?, identify: PlannedObject?,
        group: PlannedObject?
    ) {
        self.track = track
        self.page = page
        self.screen = screen
        self.identify = identify
        self.group = group
    }
}

/// The planned events of one kind, by name.
package final class PlannedNames: Sendable {
    let names: NumberedNames
    /// Sorted by name.
    let objects: [PlannedObject]
    /// The names, sorted.
    let sorted: [String]

    /// - Parameter events: if a name occurs twice, the last one counts.
    package init(_ events: [(name: String, properties: PlannedObject)]) {
        let byName = Dictionary(events, uniquingKeysWith: { $1 })
        sorted = byName.keys.sorted()
        names = NumberedNames(sorted)
        objects = sorted.compactMap { byName[$0] }
    }

    func object(named name: Span<UInt8>) -> PlannedObject? { names.number(of: name).map { objects[$0] } }
}

/// The plan for an object: an event's properties, a user's traits, or an object inside them.
package final class PlannedObject: Sendable {
    package struct Property: Sendable {
        package var name: String
        package var value: PlannedValue
        package var isRequired: Bool

        package init(name: String, value: PlannedValue, isRequired: Bool) {
            self.name = name
            self.value = value
            self.isRequired = isRequired
        }
    }

    let names: NumberedNames
    /// Sorted by name.
    let properties: [Property]
    let allowsAdditional: Bool
    /// Whether any object conforms.
    let isFree: Bool

    /// - Parameter properties: if a name occurs twice, the last one counts.
    package init(_ properties: [Property], allowsAdditional: Bool) {
        let byName = Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        let sorted = byName.keys.sorted()
        names = NumberedNames(sorted)
        self.properties = sorted.compactMap { byName[$0] }
        self.allowsAdditional = allowsAdditional
        isFree = allowsAdditional && sorted.isEmpty
    }
}
