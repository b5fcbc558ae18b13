/// Something that happens in an application and that somebody wants to count.
///
/// Three forms, which may stand side by side in one application.
///
/// **An enum whose cases are events.** Names and properties come from the `Encodable` form that the
/// compiler writes: the case's name, spelled as `namePolicy` says, and its labelled values.
///
/// ```swift
/// enum ShopEvent: AnalyticsEvent {
///     case cartViewed
///     case orderCompleted(orderID: String, total: Decimal)
/// }
/// analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 12.5))
/// // {"type":"track","event":"Order Completed","properties":{"orderID":"A1","total":12.5},…}
/// ```
///
/// The spelling of one case, and of its properties, is changed where `Codable` has it changed, or by
/// `eventName`:
///
/// ```swift
/// enum FeedEvent: AnalyticsEvent {
///     case postLiked(postID: Int)
///     case refreshed
///
///     enum PostLikedCodingKeys: String, CodingKey { case postID = "post_id" }
///     var eventName: String? {
///         switch self {
///         case .refreshed: "Feed Pulled Down"
///         default: nil
///         }
///     }
/// }
/// ```
///
/// A case with one value and no label, `case orderCompleted(Order)`, has the value's properties, if it
/// has any. The cases of `enum Tab: String, AnalyticsEvent` are events without properties, named by
/// their raw values.
///
/// **A struct is one event**, named after its type unless `eventName` says otherwise:
///
/// ```swift
/// struct ProductViewed: AnalyticsEvent {
///     var sku: String
///     var price: Decimal
/// }
/// ```
///
/// A struct with an `encode(to:)` of its own must not begin it with a nested container: that is how an
/// enum's case begins.
///
/// **A registry** is a type for one area of the application, with a method an event: see ``EventSending``.
///
/// Properties are whatever is `Encodable`. Dates become RFC 3339 in UTC with milliseconds, `Decimal`
/// keeps all its digits, `Data` is Base64, a `URL` its text. A number that JSON has no word for (NaN,
/// infinity) becomes `null`, and is reported. A value that throws when it is encoded makes no event; that
/// is reported, too.
public protocol AnalyticsEvent: Encodable, Sendable {
    /// How names of cases and types become names of events. Title Case, if not given.
    static var namePolicy: EventNamePolicy { get }

    /// This event's name, whatever its case or type is called; nil to derive it.
    ///
    /// The name of a type that a hand-written `encode(to:)` encodes as anything but an object is not
    /// derived: give one.
    var eventName: String? { get }

    /// What its recording needs consent to; see ``Consent``. ``ConsentCategory/analytics``, if not given.
    var consentCategory: ConsentCategory { get }
}

extension AnalyticsEvent {
    public static var namePolicy: EventNamePolicy { .titleCase }
    public var eventName: String? { nil }
    public var consentCategory: ConsentCategory { .analytics }
}

/// What an event is recorded for, so that a user can agree to one purpose and not to another.
public struct ConsentCategory: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral {
    /// The purpose of every event that has no other.
    public static let analytics: ConsentCategory = "analytics"
    /// Advertising, and measuring what it does.
    public static let marketing: ConsentCategory = "marketing"
    /// What the application cannot work without.
    public static let necessary: ConsentCategory = "necessary"

    public var rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { rawValue = value }
}
