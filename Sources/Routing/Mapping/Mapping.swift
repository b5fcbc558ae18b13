// Mapping: builds the JSON that a destination receives in place of the event.
//
// - The compiler checks a mapping when the configuration is read. An unknown directive, an unknown argument or an
//   invalid path rejects the configuration, so at run time a value can only be missing or null.
// - A missing value removes the member or item that would hold it. Null is written as null.
// - Values are copied as slices of the event's bytes, so numbers keep their digits and strings keep their escapes. Only
//   a directive that inspects a value copies it, into memory that is reused for the next event.
// - One pass over the event reads the fields for the mapping and for the destination's filters.
// - Three bounds hold: the size of the output, the steps that one event may take, and the nesting depth of the mapping.

import Events

/// A valid mapping. Immutable; usable from any thread. `MappingProgram` runs it.
package struct Mapping: Sendable, Equatable {
    package let source: MappingValue
    /// Names of the secrets that it uses, without duplicates. `MappingSetting` supplies their values.
    package let secrets: [String]

    let root: any MappingNode
    /// Paths to read for each scope, indexed by scope number. Scope 0 is the event. Each inner scope is an item of a
    /// list, a member's value, or the result of `$transform`'s `apply`.
    let scopes: [[FieldPath]]
    /// Number of values compiled in each scope, indexed by scope number. It determines the cost of entering the scope.
    let scopeSizes: [Int]

    /// The result of compiling a mapping.
    package struct Reading {
        /// nil: the mapping has errors.
        package var mapping: Mapping?
        package var errors: [TransformError]
        /// Names of all secrets found. Filled in also when the mapping has errors, as far as the compiler could read
        /// it.
        package var secrets: [String]
    }

    /// The placeholder for the events in a mapping that wraps them.
    package static let events = EventsNode.name

    /// - Throws: all errors, each with its place.
    package init(_ source: MappingValue) throws(TransformErrors) { self = try Self.read(source).get() }

    /// Compiles a mapping that wraps events, such as the body of a request. It must contain `$events` exactly once. The
    /// output holds one byte there (`EventsNode.mark`), which cannot occur in JSON.
    /// - Throws: as `init(_:)`; also if `$events` is missing or occurs twice.
    package init(aroundEvents source: MappingValue) throws(TransformErrors) {
        self = try Self.read(source, aroundEvents: true).get()
    }

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

    /// Whether the output can differ between events.
    package var dependsOnEvent: Bool { !(scopes.first?.isEmpty ?? true) }

    /// Two mappings are equal if their sources are equal.
    package static func == (left: Mapping, right: Mapping) -> Bool { left.source == right.source }
}

extension Mapping.Reading {
    fileprivate func get() throws(TransformErrors) -> Mapping {
        guard let mapping else { throw TransformErrors(errors: errors) }
        return mapping
    }
}

extension MappingCompiler {
    /// Checks that `$events` occurs exactly once and outside of directives.
    fileprivate func eventPlaceErrors(in root: any MappingNode) -> [TransformError] {
        let name = EventsNode.name
        guard let first = eventPlaces.first else {
            return [
                TransformError(
                    [], "\(name) is missing, so the events have no place",
                    hint: "write \(name) as the value of a member: batch: \(name)")
            ]
        }
        if let second = eventPlaces.dropFirst().first {
            return [TransformError(second, "\(name) occurs a second time", hint: "remove one of the two")]
        }
        guard EventsNode.isReachable(in: root) else {
            return [
                TransformError(
                    first, "\(name) is not allowed inside a directive", hint: "put it into a plain map or list")
            ]
        }
        return []
    }
}
