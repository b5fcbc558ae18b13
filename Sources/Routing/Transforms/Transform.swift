import Events

/// One entry of a `transforms:` list, found valid. Immutable; any thread.
package struct Transform: Sendable {
    /// What its drops and errors are counted and reported under.
    package let name: String
    let definition: any TransformDefinition
    /// Its own `where:`; events that it does not take pass unchanged.
    package var condition: Filter

    init(name: String, definition: any TransformDefinition, condition: Filter = .always) {
        self.name = name
        self.definition = definition
        self.condition = condition
    }
}

/// A kind of transform: a struct with what was configured. It also conforms to one of the two
/// protocols below, and stands in `TransformCatalogue`.
protocol TransformDefinition: Sendable {
    static var declaration: TransformDeclaration { get }
    /// What is wrong that the types of its settings cannot say.
    func check() -> [TransformError]
    /// What is probably not meant, where nothing is wrong.
    func advice() -> [TransformError]
}

extension TransformDefinition {
    func check() -> [TransformError] { [] }
    func advice() -> [TransformError] { [] }
}

/// One that changes fields it can name beforehand, or only decides whether the event goes on. Those
/// that do not touch each other's fields share one reading and one writing of the event.
protocol EditingTransform: TransformDefinition {
    /// Every path whose value it looks at.
    var reads: [FieldPath] { get }
    /// Every path that it may set, remove, rename or rewrite.
    var writes: [FieldPath] { get }
    /// Those of `writes` that it does nothing with but `Overlay.rewrite`, which gives it their value as
    /// the transforms before have left it: they need not be among `reads`.
    var rewrites: [FieldPath] { get }
    /// How long before an event others may have come on which its answer depends; nil: it looks at nothing else.
    var lookback: Duration? { get }
    func makeEditor(_ binding: inout StageBinding) -> any EventEditor
}

extension EditingTransform {
    var rewrites: [FieldPath] { [] }
    var lookback: Duration? { nil }
}

/// One that may change anything, or make several events of one.
protocol RewritingTransform: TransformDefinition {
    /// One event may take milliseconds, not microseconds.
    var mayTakeLong: Bool { get }
    func makeRewriter(_ table: inout PathTable, _ surroundings: StageSurroundings) -> any EventRewriter
}

extension RewritingTransform {
    var mayTakeLong: Bool { false }
}

/// An editing transform at work, in one stage of one destination. One thread. What it keeps from
/// event to event is bounded, and answers alike when a position of the journal is read again.
protocol EventEditor: AnyObject {
    func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome
    /// If all it ever does is to set these members of the event itself.
    var constantMembers: [ConstantMember]? { get }
}

extension EventEditor {
    var constantMembers: [ConstantMember]? { nil }
}

/// A member of the event itself whose value is known beforehand.
struct ConstantMember {
    /// Of its value, in the path table.
    var path: Int
    /// As a JSON string, and the colon.
    var key: [UInt8]
    var json: [UInt8]
}

/// A rewriting transform at work. One thread; state as an editor's.
protocol EventRewriter: AnyObject {
    /// Appends the events that it makes of this one, none, one or several, to `output`. One that is
    /// left as it is costs no copy: `.unchanged`.
    func rewrite(_ view: borrowing EventView, into output: inout EventTexts) -> RewriteOutcome
}

enum TransformOutcome: Equatable {
    case keep
    /// Counted under the transform's name.
    case drop
    /// To the dead letters, with this reason; the transform's name is put before it.
    case reject(String)
}

enum RewriteOutcome: Equatable {
    case unchanged
    /// What was appended goes on; if it is nothing, the event is dropped.
    case rewritten
    /// As `TransformOutcome.reject`.
    case reject(String)
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

    /// Of a whole key or value.
    init(_ keys: [String], isKey: Bool = false, _ message: String, hint: String? = nil) {
        let length = isKey ? keys.last?.utf8.count ?? 0 : 0
        self.init(keys: keys, isKey: isKey, fault: FilterError(0..<length, message, hint: hint))
    }
}

/// All that is wrong with a transform.
package struct TransformErrors: Error, Sendable, Equatable {
    /// Never empty.
    package var errors: [TransformError]
}
