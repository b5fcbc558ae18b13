// TrackingPlan: what an application's events are called and what is in them, as a team wrote it down:
// one YAML file for both sides. The daemon holds events to it at the door; the generator makes types of
// it that the compiler holds an application to.
//
// - It says what a plan means, never what becomes of an event: that is Routing's (`Plans/`).
// - Everything that is wrong with a plan is found and told at once; regular expressions alone are
//   checked by whoever has the library for them.
// - Everything keeps its place in the file, for errors that show only later.
// - It knows the configuration's language and nothing else of Penstock's.

import ConfigurationLanguage

/// A plan that was found to mean something.
package struct TrackingPlan: Sendable {
    /// What becomes of an event that is not as planned.
    package enum OnViolation: String, Sendable, CaseIterable {
        /// It is counted.
        case allow
        /// It is kept, and says in `context.violations` what is wrong with it.
        case flag
        /// The same, without the properties that are wrong.
        case strip
        /// It is refused.
        case refuse
    }

    /// An event of a name: a track, a page, a screen.
    package struct Event: Sendable {
        package var name: String
        package var place: Place
        package var properties: Properties
        package var about: About
        /// Of the application; what belongs together in generated code.
        package var area: Named?
    }

    package struct Properties: Sendable {
        package var list: [Property] = []
        /// Whether others may be there.
        package var additional: Bool
    }

    package struct Property: Sendable {
        package var name: String
        package var place: Place
        package var value: Value
        package var isRequired: Bool
        package var about: About
    }

    /// For people.
    package struct About: Sendable {
        package var description: String?
        package var deprecation: Deprecation?
    }

    package struct Deprecation: Sendable {
        /// What to use instead; nil: nothing is said.
        package var message: String?
    }

    /// A text and where it stands.
    package struct Named: Sendable {
        package var name: String
        package var place: Place
    }

    package indirect enum Value: Sendable {
        /// Of a property whose type is not given.
        case any
        case string(StringRule)
        case number(NumberRule)
        case boolean
        case dateTime
        case array(items: Value)
        case object(Properties)
    }

    package enum StringRule: Sendable {
        case any
        /// One of these, in the plan's order.
        case choice([Named])
        /// A regular expression that is found in the text, RE2's; not checked here.
        case pattern(Pattern)
    }

    package struct Pattern: Sendable {
        package var text: String
        package var node: YAMLNode
    }

    package struct NumberRule: Sendable {
        package var isInteger: Bool
        /// One of these; as JSON writes them, digits kept.
        package var choices: [String]?
        /// As JSON writes them.
        package var minimum: String?
        package var maximum: String?
    }

    /// The name of generated code's outermost type; nil: the file's.
    package var name: Named?
    package var onViolation = OnViolation.flag
    /// Tracks. nil: the plan says nothing of them, and they pass; so with those below.
    package var events: [Event]?
    package var pages: [Event]?
    package var screens: [Event]?
    /// Traits of identify.
    package var identify: Properties?
    /// Traits of group.
    package var group: Properties?
}

extension TrackingPlan {
    /// Reads a plan; what is wrong goes into `diagnostics`.
    /// - Parameter name: where a configuration names the file: an error about the file points there.
    /// - Returns: nil if there is an error.
    package static func read(_ path: String, namedAt name: Place? = nil, _ diagnostics: Diagnostics) -> TrackingPlan? {
        ConfigurationFile.read(path, namedAt: name, diagnostics).flatMap { read($0, diagnostics) }
    }

    package static func read(_ file: ConfigurationFile, _ diagnostics: Diagnostics) -> TrackingPlan? {
        switch YAMLComposer.compose(file, diagnostics) {
        case .broken: return nil
        case .empty:
            diagnostics.error(
                at: file.place(line: 1, column: 1), "there is no plan in this file", hint: "add events: { … }")
            return nil
        case .root(let root):
            var draft = PlanDraft()
            let found = Section.plan.read(root, named: "a tracking plan", into: &draft, diagnostics)
            let kinds = ["events", "identify", "group", "pages", "screens"]
            if root.entries != nil, !kinds.contains(where: { found[$0] != nil }) {
                diagnostics.error(
                    at: root.place, "the plan names no events", hint: "add one of \(kinds.joined(separator: ", "))")
            }
            return diagnostics.hasErrors ? nil : draft.plan()
        }
    }
}
