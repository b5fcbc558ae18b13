import Routing
import TrackingPlan

extension Configuration {
    /// A tracking plan that admission enforces. Compiled rules cannot be compared, so two plans are equal if their
    /// files have equal text.
    package struct Plan: Sendable, Equatable {
        /// Absolute.
        package var file: String
        package var onViolation: TrackingPlan.OnViolation
        /// The most violations that one event or refusal lists.
        package var maximumViolations: Int
        package var rules: PlanRules
        var text: String

        package static func == (a: Plan, b: Plan) -> Bool {
            (a.file, a.onViolation, a.maximumViolations, a.text) == (b.file, b.onViolation, b.maximumViolations, b.text)
        }
    }
}

/// The result of reading a plan's file.
package struct PlanFileResult: Sendable {
    /// Nil if there is an error.
    package var plan: TrackingPlan?
    package var diagnostics: [Diagnostic]

    package static func load(_ path: String) -> PlanFileResult {
        let diagnostics = Diagnostics()
        let plan = ConfigurationFile.read(path, diagnostics).flatMap { TrackingPlan.read($0, diagnostics) }
        _ = plan?.rules(diagnostics)
        return PlanFileResult(plan: diagnostics.hasErrors ? nil : plan, diagnostics: diagnostics.ordered(by: [path]))
    }
}

/// `plan:` during reading.
struct PlanDraft: Sendable {
    var file = ""
    /// nil: the plan's own setting applies.
    var onViolation: TrackingPlan.OnViolation?
    var maximumViolations = 20
}

extension Section where Target == PlanDraft {
    static let plan = Section([
        Field("file", \.file, .path, required: true, "the path of the plan's file"),
        Field(
            "on_violation", \.onViolation, .choice, default: "the plan's, or flag",
            "what happens to events that violate the plan"),
        Field(
            "max_violations", \.maximumViolations, .integer(1...1_000),
            "the maximum number of violations that one event or refusal lists"),
    ])
}

extension Kind where Value == Located<PlanDraft> {
    /// A file, or a map that names one.
    static var plan: Kind {
        let section = Section<PlanDraft>.plan
        return Kind(.either([.text("a path"), .section(section.describe(PlanDraft()))])) { node, key, diagnostics in
            var draft = PlanDraft()
            if let scalar = node.scalar, !scalar.isNull {
                guard let file = Kind<String>.path.read(node, key, diagnostics) else { return nil }
                draft.file = file
                return Located(name: key, place: node.place, draft: draft, found: [:])
            }
            let found = section.read(node, named: quoted(key), into: &draft, diagnostics)
            return Located(name: key, place: node.place, draft: draft, found: found)
        }
    }
}

extension Located where Draft == PlanDraft {
    /// Reads the named file.
    func plan(_ files: RememberedFiles, _ diagnostics: Diagnostics) -> Configuration.Plan? {
        guard !draft.file.isEmpty,
            let file = files.read(draft.file, namedAt: place(of: "file"), diagnostics),
            let plan = TrackingPlan.read(file, diagnostics), let rules = plan.rules(diagnostics)
        else { return nil }
        return .init(
            file: draft.file, onViolation: draft.onViolation ?? plan.onViolation,
            maximumViolations: draft.maximumViolations, rules: rules, text: file.text)
    }
}
