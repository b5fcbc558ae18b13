import Routing

/// A compiled filter and transforms. Compiled values cannot be compared, so two rules are equal if their YAML has the
/// same meaning.
package struct Rules: Sendable, Equatable {
    package struct Condition: Sendable, Equatable {
        package var filter: Filter
        /// As written, for display.
        package var text: String

        static let always = Condition(filter: .always, text: "true")

        package static func == (a: Condition, b: Condition) -> Bool { a.text == b.text }
    }

    package struct Step: Sendable, Equatable {
        package var transform: Transform
        /// As JSON, for display: secrets by name.
        package var text: String
        /// The secrets' values, which may change while the text stays.
        var secrets: [Secret] = []

        package static func == (a: Step, b: Step) -> Bool { a.text == b.text && a.secrets == b.secrets }
    }

    package var condition = Condition.always
    package var steps: [Step] = []

    package var filter: Filter { condition.filter }
    package var transforms: [Transform] { steps.map(\.transform) }
}

/// Rules during reading. Transforms may need secrets, which are read once everything else is known.
struct RulesDraft: Sendable {
    var condition = Rules.Condition.always
    var transforms: [YAMLNode] = []
    /// A destination's `session:` and `timed:` keys, each as a transform.
    var session: [YAMLNode] = []
    var timed: [YAMLNode] = []
}
