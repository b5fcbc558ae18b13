/// Who uses the application, and in which state it is: every event of the session carries it as
/// `context.session`. Both are types of the application's own.
///
/// ```swift
/// struct User: AnalyticsUser { var userID: String; var plan: String }
/// struct Settings: Encodable { var theme: String; var isPushOn: Bool }
///
/// analytics.start(session: .unauthenticated(settings))
/// analytics.start(session: .authenticated(user, settings))
/// ```
public struct AnalyticsSession {
    /// Whether it is known who it is; the raw values are those of `context.session.kind`.
    public enum Kind: String, Sendable, Hashable {
        /// Somebody who has signed in.
        case authenticated
        /// Nobody in particular.
        case unauthenticated
    }

    /// Whether it is known whose it is.
    public let kind: Kind
    let user: (any AnalyticsUser)?
    let settings: any Encodable

    /// A session of a user who has signed in.
    public static func authenticated(_ user: some AnalyticsUser, _ settings: some Encodable) -> AnalyticsSession {
        AnalyticsSession(kind: .authenticated, user: user, settings: settings)
    }

    /// A session of a user who has signed in, in an application without settings worth telling.
    public static func authenticated(_ user: some AnalyticsUser) -> AnalyticsSession {
        authenticated(user, [String: String]())
    }

    /// A session of nobody in particular.
    public static func unauthenticated(_ settings: some Encodable) -> AnalyticsSession {
        AnalyticsSession(kind: .unauthenticated, user: nil, settings: settings)
    }

    /// A session of nobody in particular, in an application without settings worth telling.
    public static func unauthenticated() -> AnalyticsSession { unauthenticated([String: String]()) }
}

/// Somebody who can sign in. What it encodes is the traits of its `identify`.
public protocol AnalyticsUser: Encodable {
    /// The id that the user has for ever; not an address or a name, which change.
    var userID: String { get }
}

/// A session that is under way.
struct RunningSession: Sendable {
    let id: String
    let kind: AnalyticsSession.Kind
    var settings: [String: PropertyValue]

    /// As it is on the wire. Settings cannot be called `id` or `kind`.
    var value: PropertyValue {
        .object(settings.merging(["id": .string(id), "kind": .string(kind.rawValue)], uniquingKeysWith: { $1 }))
    }
}
