import Events

/// A valid entry of a `transforms:` list. Immutable; usable from any thread.
package struct Transform: Sendable {
    /// Name for counting and reporting its drops and errors.
    package let name: String
    let definition: any TransformDefinition
    /// Its `where:`. Events that do not match pass unchanged.
    package var condition: Filter

    init(name: String, definition: any TransformDefinition, condition: Filter = .always) {
        self.name = name
        self.definition = definition
        self.condition = condition
    }
}

/// A kind of transform, with its settings. Each kind also conforms to one of the two protocols below and is listed in
/// `TransformCatalogue`.
protocol TransformDefinition: Sendable {
    static var declaration: TransformDeclaration { get }
    /// Checks what the settings' types cannot express, and returns the errors.
    func check() -> [TransformError]
    /// Returns warnings about valid settings that are probably mistakes.
    func advice() -> [TransformError]
}

extension TransformDefinition {
    func check() -> [TransformError] { [] }
    func advice() -> [TransformError] { [] }
}

/// A transform that changes fields known in advance, or that only keeps or drops the event. Transforms that do not
/// touch each other's fields share one read and one write of the event.
protocol EditingTransform: TransformDefinition {
    /// All paths whose values it reads.
    var reads: [FieldPath] { get }
    /// All paths that it may set, remove, rename or rewrite.
    var writes: [FieldPath] { get }
    /// The paths of `writes` that it changes only with `Overlay.rewrite`. They need not be in `reads`, because
    /// `rewrite` passes the value as the preceding transforms have left it.
    var rewrites: [FieldPath] { get }
    /// How far before an event, by the time of receipt, other events can affect its result; nil: the result depends on
    /// the event alone.
    var lookback: Duration? { get }
    func makeEditor(_ binding: inout StageBinding) -> any EventEditor
}

extension EditingTransform {
    var rewrites: [FieldPath] { [] }
    var lookback: Duration? { nil }
}

/// A transform that may change the whole event, or return several events.
protocol RewritingTransform: TransformDefinition {
    /// Whether one event may take milliseconds instead of microseconds.
    var mayTakeLong: Bool { get }
    func makeRewriter(_ table: inout PathTable, _ surroundings: StageSurroundings) -> any EventRewriter
}

extension RewritingTransform {
    var mayTakeLong: Bool { false }
}

/// A running editing transform, in one stage of one destination. One thread. State that it keeps between events is
/// bounded and must give the same result when a journal position is read again.
protocol EventEditor: AnyObject {
    func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome
    /// Set if the transform only ever sets these members of the event itself.
    var constantMembers: [ConstantMember]? { get }
}

extension EventEditor {
    var constantMembers: [ConstantMember]? { nil }
}

/// A top-level member of the event with a constant value.
struct ConstantMember {
    /// Index of its value in the path table.
    var path: Int
    /// The name as a JSON string, and the colon.
    var key: [UInt8]
    var json: [UInt8]
}

/// A running rewriting transform. One thread; the same rules for state as in `EventEditor`.
protocol EventRewriter: AnyObject {
    /// Appends the resulting events to `output`: none, one or several. Returns `.unchanged` to keep the event without a
    /// copy.
    func rewrite(_ view: borrowing EventView, into output: inout EventTexts) -> RewriteOutcome
}

enum TransformOutcome: Equatable {
    case keep
    /// Drops the event; counted under the transform's name.
    case drop
    /// Sends the event to the dead letters with this reason, which is prefixed with the transform's name.
    case reject(String)
}

enum RewriteOutcome: Equatable {
    case unchanged
    /// The appended events continue. If none was appended, the event is dropped.
    case rewritten
    /// As `TransformOutcome.reject`.
    case reject(String)
}

/// An error in a transform, and the key at fault.
package struct TransformError: Error, Sendable, Equatable {
    /// Path from the transform's value to the fault: names of members, indexes of list items.
    package var keys: [String]
    /// Whether the last key itself is at fault and not its value.
    package var isKey: Bool
    /// The message, and the byte range within the text of the key or value.
    package var fault: FilterError

    package init(keys: [String], isKey: Bool, fault: FilterError) {
        self.keys = keys
        self.isKey = isKey
        self.fault = fault
    }

    /// Creates an error about a whole key or value.
    init(_ keys: [String], isKey: Bool = false, _ message: String, hint: String? = nil) {
        let length = isKey ? keys.last?.utf8.count ?? 0 : 0
        self.init(keys: keys, isKey: isKey, fault: FilterError(0..<length, message, hint: hint))
    }
}

/// All errors in a transform.
package struct TransformErrors: Error, Sendable, Equatable {
    /// Never empty.
    package var errors: [TransformError]
}
