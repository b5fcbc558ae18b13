import Routing

/// What is done with events on a way: a filter and transforms, compiled. Compiled ones cannot be
/// compared, so two are equal if they were written with the same meaning to YAML.
package struct Rules: Sendable, Equatable {
    package struct Condition: Sendable, Equatable {
        package var filter: Filter
        /// As written, for showing.
        package var text: String

        static let always = Condition(filter: .always, text: "true")

        package static func == (a: Condition, b: Condition) -> Bool { a.text == b.text }
    }

    package struct Step: Sendable, Equatable {
        package var transform: Transform
        /// As JSON, for showing: secrets by their names.
        package var text: String
        /// Their values may change while the text stays.
        var secrets: [Secret] = []

        package static func == (a: Step, b: Step) -> Bool { a.text == b.text && a.secrets == b.secrets }
    }

    package var condition = Condition.always
    package var steps: [Step] = []

    package var filter: Filter { condition.filter }
    package var transforms: [Transform] { steps.map(\.transform) }
}

/// Rules while they are read: transforms may need secrets, which are read when everything else is
/// known.
struct RulesDraft: Sendable {
    var condition = Rules.Condition.always
    var transforms: [YAMLNode] = []
    /// Of a destination: its `session:` and `timed:`, each as a transform, if it has them.
    var session: [YAMLNode] = []
    var timed: [YAMLNode] = []
}
