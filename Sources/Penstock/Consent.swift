/// The purposes for which the user has consented to the recording of events.
///
/// ```swift
/// let analytics = Analytics(providers: [DaemonProvider()], consent: .undecided)
/// …
/// analytics.consent = .categories([.analytics])
/// ```
public struct Consent: Sendable, Hashable {
    /// How events that lack consent are treated.
    public enum Withheld: Sendable, Hashable {
        /// They are held in memory until the consent changes, at most `Analytics.Options.heldEvents` of them.
        case hold
        /// They are not recorded.
        case discard
    }

    private enum Granted: Hashable {
        case all
        case some(Set<ConsentCategory>)
    }

    private let granted: Granted
    /// How events of all other categories are treated.
    public let withheld: Withheld

    /// Consent to all categories.
    public static let on = Consent(granted: .all, withheld: .discard)
    /// No consent: nothing is recorded, and held events are discarded.
    public static let off = Consent(granted: .some([]), withheld: .discard)
    /// The user has not been asked yet: all events are held.
    public static let undecided = Consent(granted: .some([]), withheld: .hold)

    /// Consent to the given categories. An event whose type names no category belongs to `.analytics`.
    ///
    /// - Parameters:
    ///   - categories: The categories that are recorded.
    ///   - withheld: How events of all other categories are treated.
    public static func categories(_ categories: Set<ConsentCategory>, withheld: Withheld = .discard) -> Consent {
        Consent(granted: .some(categories), withheld: withheld)
    }

    /// Returns whether events of this category are recorded.
    public func isGranted(_ category: ConsentCategory) -> Bool {
        switch granted {
        case .all: true
        case .some(let categories): categories.contains(category)
        }
    }
}
