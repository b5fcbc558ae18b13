// Mapping: from an event to what a destination wants instead of it.
//
// - A mapping is understood when the configuration is read: a directive, an argument or a path that
//   means nothing refuses the configuration. What remains for an event is to be missing or null.
// - What is missing vanishes, with the member or item that would have held it; null stays.
// - Values are copied as slices of the event's bytes: numbers keep their digits, strings their
//   escapes. Only a directive that has to look into a value makes a copy of it, in memory that is
//   used again for the next event.
// - Everything that a mapping asks of an event is read in one pass, together with what the
//   destination's filters ask.
// - The output's size is bounded, and so are the steps that an event takes, and the nesting of what the
//   configuration says.

import Events

/// A mapping, found valid. Immutable; any thread. `MappingProgram` runs it.
package struct Mapping: Sendable, Equatable {
    package let source: MappingValue
    /// Names of the secrets that it fills in, each once. Their values come with the program.
    package let secrets: [String]

    let root: any MappingNode
    /// The paths that are read from the event, then those of each inner scope (an item of a list, what
    /// `$transform` made), by the scope's number.
    let scopes: [[FieldPath]]
    /// How many parts are run for each scope, by its number: what it costs to enter it.
    let scopeSizes: [Int]

    /// What understanding one came to.
    package struct Reading {
        /// nil: something is wrong with it.
        package var mapping: Mapping?
        package var errors: [TransformError]
        /// Also of one that is wrong, as far as they were seen.
        package var secrets: [String]
    }

    /// As it is written in a text around events, in their place.
    package static let events = EventsNode.name

    /// - Throws: all that is wrong with it, each with its place.
    package init(_ source: MappingValue) throws(TransformErrors) { self = try Self.read(source).get() }

    /// A text around events, such as the body of a request: somewhere in it, once, `$events` stands for
    /// them, and gives one byte (`EventsNode.mark`) that no JSON text holds.
    /// - Throws: as `init(_:)`; also if the events have no place in it, or more than one.
    package init(aroundEvents source: MappingValue) throws(TransformErrors) { self = try Self.read(source, aroundEvents: true).get() }

    package static func read(_ source: MappingValue, aroundEvents: Bool = false) -> Reading {
        let compiler = MappingCompiler(aroundEvents: aroundEvents)
        let root = compiler.compile(source, at: [])
        var errors = compiler.errors
        if aroundEvents, let root, errors.isEmpty { errors = compiler.eventPlaceErrors(in: root) }
        guard let root, errors.isEmpty else { return Reading(mapping: nil, errors: errors, secrets: compiler.secrets) }
        return Reading(mapping: Mapping(source, root, compiler), errors: [], secrets: compiler.secrets)
    }

    private init(_ source: MappingValue, _ root: any MappingNode, _ compiler: MappingCompiler) {
        self.source = source
        self.root = root
        scopes = compiler.scopes.map(\.paths)
        scopeSizes = compiler.scopeSizes
        secrets = compiler.secrets
    }

    /// Whether it may come to something else for another event.
    package var dependsOnEvent: Bool { !(scopes.first?.isEmpty ?? true) }

    /// Two mappings are equal if they were written alike.
    package static func == (left: Mapping, right: Mapping) -> Bool { left.source == right.source }
}

extension Mapping.Reading {
    fileprivate func get() throws(TransformErrors) -> Mapping {
        guard let mapping else { throw TransformErrors(errors: errors) }
        return mapping
    }
}

extension MappingCompiler {
    /// What is wrong with where the events stand in a text around them.
    fileprivate func eventPlaceErrors(in root: any MappingNode) -> [TransformError] {
        let name = EventsNode.name
        guard let first = eventPlaces.first else {
            return [TransformError([], "nothing says where the events go", hint: "write \(name) as the value of a member: batch: \(name)")]
        }
        if let second = eventPlaces.dropFirst().first {
            return [TransformError(second, "\(name) stands here a second time", hint: "remove one of the two")]
        }
        guard EventsNode.isReachable(in: root) else {
            return [TransformError(first, "\(name) cannot stand inside a directive", hint: "put it into a plain map or list")]
        }
        return []
    }
}
