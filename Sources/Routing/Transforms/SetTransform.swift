import Events

/// `set: { routed: w1, properties.plan: "pro", context.app.name: "{{ event }}" }`: gives fields a
/// value. One that is there is replaced where it stands; one that is missing is added at the end
/// of its object, and so are objects on the way to it (`null` counts as missing there). A field
/// inside something that is no object, or an item that a list does not have, rejects the event.
package struct SetTransform: Sendable, Equatable {
    struct Assignment: Sendable, Equatable {
        var path: FieldPath
        var value: ValueTemplate
    }

    let assignments: [Assignment]

    /// - Parameter members: paths (as in filters) and their values, in the order written. What a
    ///   value may be: `ValueTemplate`.
    package init(_ members: [JSONValue.Member]) throws(TransformErrors) {
        var assignments: [Assignment] = []
        var errors: [TransformError] = []
        if members.isEmpty {
            let fault = FilterError(0..<0, "set has nothing to set", hint: "write set: { field: value }")
            errors.append(TransformError(keys: [], isKey: false, fault: fault))
        }
        for member in members {
            var path: FieldPath?
            do {
                let parsed = try FieldPath(parsing: member.name)
                try Self.check(parsed, member.name, assignments)
                path = parsed
            } catch {
                errors.append(TransformError(keys: [member.name], isKey: true, fault: error))
            }
            do {
                let value = try ValueTemplate(member.value, keys: [member.name])
                if let path { assignments.append(Assignment(path: path, value: value)) }
            } catch {
                errors.append(error)
            }
        }
        guard errors.isEmpty else { throw TransformErrors(errors: errors) }
        self.assignments = assignments
    }

    private static func check(_ path: FieldPath, _ text: String, _ others: [Assignment]) throws(FilterError) {
        let whole = 0..<text.utf8.count
        if path.segments[0] == "type" {
            throw FilterError(whole, "the kind of an event cannot be changed")
        }
        if path.segments[0] == "messageId", path.segments.count > 1 {
            throw FilterError(whole, "messageId is a string; nothing can be set inside it")
        }
        if let other = others.first(where: { $0.path.overlaps(path) }) {
            throw FilterError(
                whole, other.path == path ? "\(path) is set twice" : "\(path) and \(other.path) overlap",
                hint: "set one of the two in a transform of its own; transforms apply in order")
        }
    }

    var writes: [FieldPath] { assignments.map(\.path) }
    var reads: [FieldPath] { assignments.flatMap { $0.value.paths } }
}
