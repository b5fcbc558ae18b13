/// The current user and the state of the application. Every event of the session carries it as `context.session`. The
/// application defines the types of the user and of the settings.
///
/// ```swift
/// struct User: AnalyticsUser { var userID: String; var plan: String }
/// struct Settings: Encodable { var theme: String; var isPushOn: Bool }
///
/// analytics.start(session: .unauthenticated(settings))
/// analytics.start(session: .authenticated(user, settings))
/// ```
public struct AnalyticsSession {
    /// Whether the user is signed in. The raw values are those of `context.session.kind`.
    public enum Kind: String, Sendable, Hashable {
        /// The user is signed in.
        case authenticated
        /// The user is unknown.
        case unauthenticated
    }

    /// Whether the user is signed in.
    public let kind: Kind
    let user: (any AnalyticsUser)?
    let settings: any Encodable

    /// Creates a session of a signed-in user.
    ///
    /// - Parameters:
    ///   - user: The user. Its encoded members are recorded as the traits of an `identify`.
    ///   - settings: The state of the application, recorded with every event. It must encode as an object.
    public static func authenticated(_ user: some AnalyticsUser, _ settings: some Encodable) -> AnalyticsSession {
        AnalyticsSession(kind: .authenticated, user: user, settings: settings)
    }

    /// Creates a session of a signed-in user, without settings.
    public static func authenticated(_ user: some AnalyticsUser) -> AnalyticsSession {
        authenticated(user, [String: String]())
    }

    /// Creates a session of an unknown user.
    public static func unauthenticated(_ settings: some Encodable) -> AnalyticsSession {
        AnalyticsSession(kind: .unauthenticated, user: nil, settings: settings)
    }

    /// Creates a session of an unknown user, without settings.
    public static func unauthenticated() -> AnalyticsSession { unauthenticated([String: String]()) }
}

/// A user who can sign in. Its encoded members are recorded as the traits of an `identify`.
public protocol AnalyticsUser: Encodable {
    /// The permanent id of the user. Do not use an email address or a name: these change.
    var userID: String { get }
}

/// An active session.
struct RunningSession: Sendable {
    let id: String
    let kind: AnalyticsSession.Kind
    var settings: [String: PropertyValue]

    /// The session as it is recorded. Settings cannot replace the members `id` and `kind`.
    var value: PropertyValue {
        .dictionary(settings.merging(["id": .string(id), "kind": .string(kind.rawValue)], uniquingKeysWith: { $1 }))
    }
}
