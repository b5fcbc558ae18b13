// Social: an example application, to read and copy. Its users follow a feed, have a profile and settings, send
// messages, and see an onboarding tour on their first visit.
//
// Each area of the application has a registry, the only analytics type that the area's screens use. It has one method
// for each event, which takes what the screen has at hand, computes what is recorded, and expresses it as types. A
// registry depends on `EventSending` only. `SocialAnalytics` is the one place that knows providers, sessions and
// consent.

import Penstock

/// The registries of all areas.
struct SocialAnalytics: Sendable {
    let feed: FeedRegistry
    let profile: ProfileRegistry
    let settings: SettingsRegistry
    let messages: MessagesRegistry
    let onboarding: OnboardingRegistry
    private let analytics: Analytics

    /// - Parameter analytics: An `Analytics` with the application's providers. Tests pass other providers.
    init(_ analytics: Analytics) {
        self.analytics = analytics
        feed = FeedRegistry(events: analytics)
        profile = ProfileRegistry(events: analytics)
        settings = SettingsRegistry(events: analytics)
        messages = MessagesRegistry(events: analytics)
        onboarding = OnboardingRegistry(events: analytics)
        // No user's text leaves the application, even if an event contains it by mistake.
        analytics.use(.redact("text", "email"))
    }

    /// Makes the analytics for a host with a daemon. Nothing is sent until the user has decided about consent.
    static func live() -> SocialAnalytics {
        var options = Analytics.Options()
        options.application = Analytics.Application(name: "Social", version: "1.0")
        return SocialAnalytics(Analytics(providers: [DaemonProvider()], consent: .undecided, options: options))
    }

    /// Sets the consent to the user's decision.
    func answered(analytics isAnalyticsAllowed: Bool, marketing isMarketingAllowed: Bool) {
        var categories: Set<ConsentCategory> = [.necessary]
        if isAnalyticsAllowed { categories.insert(.analytics) }
        if isMarketingAllowed { categories.insert(.marketing) }
        analytics.consent = .categories(categories)
    }

    func started(with preferences: Preferences) { analytics.start(session: .unauthenticated(preferences)) }

    func signedIn(_ member: Member, with preferences: Preferences) {
        analytics.start(session: .authenticated(member, preferences))
    }

    func changed(_ old: Preferences, to new: Preferences) {
        settings.changed(old, to: new)
        analytics.update(settings: new)
    }

    func signedOut() { analytics.reset() }
}

/// A user with an account. Its encoded members are sent to every service that keeps profiles, so it has no name
/// and no address.
struct Member: AnalyticsUser {
    enum Plan: String, Encodable { case free, pro }

    var userID: String
    var plan: Plan
}

/// The user's preferences, recorded as the settings of a session.
struct Preferences: Encodable, Equatable {
    enum Theme: String, Encodable { case light, dark }

    var theme = Theme.light
    var isPushOn = false
    var mutedWords = 0
}
