/// An event that happens in an application.
///
/// There are three ways to define events. You can use all of them in one application.
///
/// **An enum whose cases are events.** The compiler's `Encodable` conformance supplies the name and the properties: the
/// name is the case's name, in the spelling of `namePolicy`; the properties are the case's labelled values.
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
/// To change the spelling of a case or of its properties, define coding keys as for `Codable`, or implement
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
/// If a case has one value and no label, such as `case orderCompleted(Order)`, the members of the value become the
/// event's properties. Any other value needs a label: in a debug build, an event with a value that has none is not
/// recorded, and is reported with its name and the place of the call. The cases of `enum Tab: String, AnalyticsEvent`
/// are events without properties, named by their raw values.
///
/// **A struct is one event**, named after its type unless `eventName` returns another name:
///
/// ```swift
/// struct ProductViewed: AnalyticsEvent {
///     var sku: String
///     var price: Decimal
/// }
/// ```
///
/// A struct with its own `encode(to:)` must not begin it with a nested container, because an enum's case begins that
/// way.
///
/// **A registry** is a type for one area of the application, with one method for each event: see ``EventSending``.
///
/// A property can have any `Encodable` type. A date is recorded as RFC 3339 in UTC with milliseconds, a `Decimal` with
/// all its digits, `Data` as Base64 and a `URL` as its text. A number that JSON cannot represent (NaN, infinity) is
/// recorded as `null` and reported. If a value throws while it is encoded, the event is not recorded, and the error is
/// reported.
public protocol AnalyticsEvent: Encodable, Sendable {
    /// The rule that derives event names from the names of cases and types. Title Case by default.
    static var namePolicy: EventNamePolicy { get }

    /// The rule that derives the names of properties from labels and members. By default they stay as they are in the
    /// source.
    ///
    /// It applies to the event's own properties, not to members of objects inside them.
    static var propertyNamePolicy: EventNamePolicy { get }

    /// The event's name on the wire; nil to derive it from the name of its case or type.
    ///
    /// If a hand-written `encode(to:)` encodes anything but an object, no name can be derived: implement `eventName`.
    var eventName: String? { get }

    /// The purpose to which the user must consent before the event is recorded; see ``Consent``. The default is
    /// ``ConsentCategory/analytics``.
    var consentCategory: ConsentCategory { get }
}

extension AnalyticsEvent {
    /// The default: Title Case.
    public static var namePolicy: EventNamePolicy { .titleCase }
    /// The default: as in the source.
    public static var propertyNamePolicy: EventNamePolicy { .verbatim }
    /// The default: nil, so the name is derived.
    public var eventName: String? { nil }
    /// The default: `.analytics`.
    public var consentCategory: ConsentCategory { .analytics }
}

extension AnalyticsEvent {
    /// The event's name without its properties, found without encoding it.
    var nameForDiagnostics: String {
        if let eventName, !eventName.isEmpty { return eventName }
        let mirror = Mirror(reflecting: self)
        guard mirror.displayStyle == .enum else { return Self.namePolicy.spelling(of: String(describing: Self.self)) }
        return Self.namePolicy.spelling(of: mirror.children.first?.label ?? String(describing: self))
    }
}

/// The purpose for which an event is recorded. A user can consent to one purpose and not to another.
public struct ConsentCategory: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral {
    /// Product analytics: the default purpose.
    public static let analytics: ConsentCategory = "analytics"
    /// Advertising, and measuring its results.
    public static let marketing: ConsentCategory = "marketing"
    /// Events without which the application cannot work.
    public static let necessary: ConsentCategory = "necessary"

    /// The name of the purpose.
    public var rawValue: String

    /// Creates a purpose with the given name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Creates a purpose with the given name.
    public init(stringLiteral value: String) { rawValue = value }
}
