/// What the user has agreed to.
///
/// ```swift
/// let analytics = Analytics(providers: [DaemonProvider()], consent: .undecided)
/// …
/// analytics.consent = .categories([.analytics])
/// ```
public struct Consent: Sendable, Hashable {
    /// What becomes of events that nobody has agreed to.
    public enum Withheld: Sendable, Hashable {
        /// They wait in memory, at most `Analytics.Options.heldEvents` of them, until the answer changes.
        case hold
        /// They are not recorded.
        case discard
    }

    private enum Granted: Hashable {
        case all
        case some(Set<ConsentCategory>)
    }

    private let granted: Granted
    /// What becomes of the others.
    public let withheld: Withheld

    /// To everything.
    public static let on = Consent(granted: .all, withheld: .discard)
    /// To nothing: nothing is recorded, and what was held is discarded.
    public static let off = Consent(granted: .some([]), withheld: .discard)
    /// Not asked yet: everything is held.
    public static let undecided = Consent(granted: .some([]), withheld: .hold)

    /// To events of these categories. An event whose type names no category is of `.analytics`.
    public static func categories(_ categories: Set<ConsentCategory>, withheld: Withheld = .discard) -> Consent {
        Consent(granted: .some(categories), withheld: withheld)
    }

    /// Whether events of this category are recorded.
    public func isGranted(_ category: ConsentCategory) -> Bool {
        switch granted {
        case .all: true
        case .some(let categories): categories.contains(category)
        }
    }
}
