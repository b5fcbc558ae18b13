// TrackingPlan: reads a team's tracking plan, one YAML file that names an application's events and describes their
// properties. The daemon checks events against the plan on admission. The generator makes Swift types from it, so that
// the compiler checks an application against it.
//
// - This module defines what a plan means. Routing (`Plans/`) decides what to do with an event.
// - All errors of a plan are reported at once. Only regular expressions are not checked here: the caller that has RE2
//   checks them.
// - Every part of a plan keeps its place in the file, for errors that are found later.
// - It depends on the configuration's syntax and on nothing else of Penstock.

import ConfigurationSyntax

/// A tracking plan. The diagnostics of reading it tell whether it is valid.
package struct TrackingPlan: Sendable {
    /// What to do with an event that violates the plan.
    package enum OnViolation: String, Sendable, CaseIterable {
        /// Store the event unchanged and count the violation.
        case allow
        /// Store the event and list its violations in `context.violations`.
        case flag
        /// As `flag`, but remove the offending properties.
        case strip
        /// Reject the event.
        case refuse
    }

    /// A planned event: a track, a page or a screen.
    package struct Event: Sendable {
        package var name: String
        package var place: Place
        package var properties: Properties
        package var about: About
        /// The area of the application. Generated code groups events by area.
        package var area: Named?
    }

    package struct Properties: Sendable {
        package var list: [Property] = []
        /// Whether other properties are allowed.
        package var additional: Bool
    }

    package struct Property: Sendable {
        package var name: String
        package var place: Place
        package var value: Value
        package var isRequired: Bool
        package var about: About
    }

    /// Documentation for people.
    package struct About: Sendable {
        package var description: String?
        package var deprecation: Deprecation?
    }

    package struct Deprecation: Sendable {
        /// What to use instead; nil: not given.
        package var message: String?
    }

    /// A text and its place in the file.
    package struct Named: Sendable {
        package var name: String
        package var place: Place
    }

    package indirect enum Value: Sendable {
        /// The property has no type.
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
        /// One of these values, in the order of the plan.
        case choice([Named])
        /// A regular expression (RE2) that must match a part of the text; not checked here.
        case pattern(Pattern)
    }

    package struct Pattern: Sendable {
        package var text: String
        package var node: YAMLNode
    }

    package struct NumberRule: Sendable {
        package var isInteger: Bool
        /// The allowed values as JSON text, so that they keep their digits.
        package var choices: [String]?
        /// The bounds as JSON text.
        package var minimum: String?
        package var maximum: String?
    }

    /// The name of the outermost type of generated code; nil: derived from the file's name.
    package var name: Named?
    package var onViolation = OnViolation.flag
    /// Track events. Here and below, nil means that the plan does not cover this kind, so its events pass.
    package var events: [Event]?
    package var pages: [Event]?
    package var screens: [Event]?
    /// Traits of identify events.
    package var identify: Properties?
    /// Traits of group events.
    package var group: Properties?
}

extension TrackingPlan {
    /// Reads a plan and adds its errors to `diagnostics`.
    /// - Returns: nil if there is no plan. A plan with errors is returned as far as it could be read, so that the
    ///   caller can find further errors in it.
    package static func read(_ file: ConfigurationFile, _ diagnostics: Diagnostics) -> TrackingPlan? {
        switch YAMLComposer.compose(file, diagnostics) {
        case .broken: return nil
        case .empty:
            diagnostics.error(
                at: file.place(line: 1, column: 1), "the file has no plan", hint: "add events: { … }")
            return nil
        case .root(let root):
            var draft = PlanDraft()
            let found = Section.plan.read(root, named: "a tracking plan", into: &draft, diagnostics)
            let kinds = ["events", "identify", "group", "pages", "screens"]
            if root.entries != nil, !kinds.contains(where: { found[$0] != nil }) {
                diagnostics.error(
                    at: root.place, "the plan has no events", hint: "add one of \(kinds.joined(separator: ", "))")
            }
            return draft.plan()
        }
    }
}
