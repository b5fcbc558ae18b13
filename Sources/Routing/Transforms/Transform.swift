import Events

/// One entry of a `transforms:` list, found valid. Immutable; any thread.
///
/// A new kind of transform is a type in a file of its own and a case here. It says what it reads
/// and writes, and gives a step that puts its edits into the overlay.
package struct Transform: Sendable, Equatable {
    package enum Operation: Sendable, Equatable {
        case set(SetTransform)
    }

    package var operation: Operation
    /// Its own `where:`; events that it does not take pass unchanged.
    package var condition: Filter

    package init(_ operation: Operation, where condition: Filter = .always) {
        self.operation = operation
        self.condition = condition
    }

    /// Every path whose value decides about the outcome.
    var reads: [FieldPath] {
        switch operation {
        case .set(let set): condition.expression.paths + set.reads
        }
    }

    /// Every path that it may change.
    var writes: [FieldPath] {
        switch operation {
        case .set(let set): set.writes
        }
    }
}

/// What is wrong with a transform, and at which of its keys.
package struct TransformError: Error, Sendable, Equatable {
    /// From the transform's value down to the fault: names of members, numbers of list items.
    package var keys: [String]
    /// Whether the last key itself is at fault, not the value behind it.
    package var isKey: Bool
    /// Place within that key's or value's text, if it is one.
    package var fault: FilterError

    package init(keys: [String], isKey: Bool, fault: FilterError) {
        self.keys = keys
        self.isKey = isKey
        self.fault = fault
    }
}

/// All that is wrong with a transform.
package struct TransformErrors: Error, Sendable, Equatable {
    /// Never empty.
    package var errors: [TransformError]
}
