import Events
import NameSuggestion

/// The refusal that the sender of a rejected event receives.
struct PlanRefusal {
    let refusal: Refusal

    /// Maximum number of names to search for a similar one. Bounds the cost of a refusal to about that of an event.
    private static let candidates = 200

    /// - Parameter checker: must have checked this event last.
    init(_ checker: PlanChecker, _ reason: RefusalReason, _ index: EventIndex, _ json: Span<UInt8>) {
        refusal = Refusal(
            reason: reason,
            detail: reason == .unplanned
                ? Self.unplanned(checker, index, json)
                : Self.violations(checker.violations, of: checker.violationCount),
            messageID: index.messageID.isPresent ? JSONText.string(json.extracting(index.messageID.range)) : nil)
    }

    private static func unplanned(_ checker: PlanChecker, _ index: EventIndex, _ json: Span<UInt8>) -> String {
        let names: PlannedNames? =
            switch index.kind {
            case .track: checker.rules.track
            case .page: checker.rules.page
            case .screen: checker.rules.screen
            case .identify, .group, .alias: nil
            }
        let name = checker.name.flatMap { JSONText.string(json.extracting($0.range)) } ?? ""
        let nearest = NearestName.find(name, among: names?.sorted.prefix(candidates) ?? []).map {
            "; did you mean \"\($0)\"?"
        }
        return "the plan has no \(index.kind.name) \"\(PlannedValue.short(name, 100))\"" + (nearest ?? "")
    }

    private static func violations(_ list: [PlanViolation], of count: Int) -> String {
        let descriptions = list.map { violation in
            "\(violation.property): expected \(violation.expected)" + (violation.found.map { ", found \($0)" } ?? "")
        }
        return descriptions.joined(separator: "; ") + (count > list.count ? "; and \(count - list.count) more" : "")
    }
}
