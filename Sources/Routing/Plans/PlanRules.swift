// Plans: whether an event is what a tracking plan says, and what it is without what is not.
//
// - Pure functions of an event; an event as planned costs one fetch, one walk over its properties and
//   no allocation.
// - What is said of a violation is a property's name, what was expected and what kind of value was
//   there: never the value.
// - Of keys that occur twice the last counts, here as everywhere.

import Events

/// A tracking plan, compiled. Immutable; any thread.
package final class PlanRules: Sendable {
    let track: PlannedNames?
    let page: PlannedNames?
    let screen: PlannedNames?
    let identify: PlannedObject?
    let group: PlannedObject?

    /// - Parameters: nil: events of that kind are not looked at.
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

/// Events of one kind by their names.
package final class PlannedNames: Sendable {
    let names: ByteStringSet
    /// In the order of their names.
    let objects: [PlannedObject]
    /// Sorted.
    let sorted: [String]

    /// - Parameter events: of several with one name the last counts.
    package init(_ events: [(name: String, properties: PlannedObject)]) {
        let byName = Dictionary(events, uniquingKeysWith: { $1 })
        sorted = byName.keys.sorted()
        names = ByteStringSet(sorted)
        objects = sorted.compactMap { byName[$0] }
    }

    func object(named name: Span<UInt8>) -> PlannedObject? { names.number(of: name).map { objects[$0] } }
}

/// The properties of an event, the traits of a user, an object among them.
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

    let names: ByteStringSet
    /// In the order of their names.
    let properties: [Property]
    let allowsAdditional: Bool
    /// Any object will do.
    let isFree: Bool

    /// - Parameter properties: of several with one name the last counts.
    package init(_ properties: [Property], allowsAdditional: Bool) {
        let byName = Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        let sorted = byName.keys.sorted()
        names = ByteStringSet(sorted)
        self.properties = sorted.compactMap { byName[$0] }
        self.allowsAdditional = allowsAdditional
        isFree = allowsAdditional && sorted.isEmpty
    }
}
