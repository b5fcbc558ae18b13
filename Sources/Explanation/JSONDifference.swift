import Events
import Routing

/// The differences between two JSON values, field by field.
package struct JSONDifference: Sendable, Equatable {
    package struct Change: Sendable, Equatable {
        /// The field's path in filter notation; empty: the whole value.
        package var path: String
        package var before: JSONTree?
        package var after: JSONTree?
    }

    package enum Match: String, Sendable, CaseIterable {
        /// Fields that are not in the expected value are ignored.
        case subset
        /// The values must be equal.
        case whole
    }

    package private(set) var changes: [Change] = []

    package init(from before: JSONTree, to after: JSONTree) {
        compare(before, after, [], .whole)
    }

    /// Compares an actual value with an expected one.
    package init(expected: JSONTree, actual: JSONTree, _ match: Match) {
        compare(expected, actual, [], match)
    }

    package var isEmpty: Bool { changes.isEmpty }

    private mutating func compare(_ before: JSONTree, _ after: JSONTree, _ path: [String], _ match: Match) {
        switch (before, after) {
        case (.object(let old), .object(let new)):
            var values = MembersByName(new)
            for member in old {
                if let value = values.take(member.name) {
                    compare(member.value, value, path + [member.name], match)
                } else {
                    add(path + [member.name], member.value, nil)
                }
            }
            guard match == .whole else { return }
            for member in values.rest(of: new) { add(path + [member.name], nil, member.value) }
        case (.list(let old), .list(let new)):
            for (number, (before, after)) in zip(old, new).enumerated() {
                compare(before, after, path + ["\(number)"], match)
            }
            for number in new.count..<max(old.count, new.count) { add(path + ["\(number)"], old[number], nil) }
            for number in old.count..<max(old.count, new.count) { add(path + ["\(number)"], nil, new[number]) }
        default:
            if before != after { add(path, before, after) }
        }
    }

    private mutating func add(_ path: [String], _ before: JSONTree?, _ after: JSONTree?) {
        // List the members of a new object one by one.
        if before == nil, case .object(let members)? = after, !members.isEmpty, path.count < 64 {
            for member in members { add(path + [member.name], nil, member.value) }
            return
        }
        changes.append(Change(path: path.isEmpty ? "" : FieldPath(path).description, before: before, after: after))
    }
}
