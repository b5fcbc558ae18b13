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
// - The output's size is bounded, and so is the nesting of what the configuration says.

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

    /// - Throws: all that is wrong with it, each with its place.
    package init(_ source: MappingValue) throws(TransformErrors) {
        let compiler = MappingCompiler()
        let root = compiler.compile(source, at: [])
        guard let root, compiler.errors.isEmpty else { throw TransformErrors(errors: compiler.errors) }
        self.source = source
        self.root = root
        scopes = compiler.scopes.map(\.paths)
        secrets = compiler.secrets
    }

    /// A text around events, such as the body of a request: somewhere in it, once, `$events` stands for
    /// them, and gives one byte (`EventsNode.mark`) that no JSON text holds.
    /// - Throws: as `init(_:)`; also if the events have no place in it, or more than one.
    package init(aroundEvents source: MappingValue) throws(TransformErrors) {
        let compiler = MappingCompiler(aroundEvents: true)
        let root = compiler.compile(source, at: [])
        guard let root, compiler.errors.isEmpty else { throw TransformErrors(errors: compiler.errors) }
        let name = EventsNode.name
        guard let first = compiler.eventPlaces.first else {
            throw TransformErrors(
                errors: [TransformError([], "nothing says where the events go", hint: "write \(name) as the value of a member: batch: \(name)")])
        }
        if let second = compiler.eventPlaces.dropFirst().first {
            throw TransformErrors(errors: [TransformError(second, "\(name) stands here a second time", hint: "remove one of the two")])
        }
        guard EventsNode.isReachable(in: root) else {
            throw TransformErrors(
                errors: [TransformError(first, "\(name) cannot stand inside a directive", hint: "put it into a plain map or list")])
        }
        self.source = source
        self.root = root
        scopes = compiler.scopes.map(\.paths)
        secrets = compiler.secrets
    }

    /// Two mappings are equal if they were written alike.
    package static func == (left: Mapping, right: Mapping) -> Bool { left.source == right.source }
}
