// Social: an application as its developers would write it, to be read and copied. People follow a feed, have a profile
// and settings, write messages, and are shown around when they come for the first time.
//
// Each area has a registry, which is all that the area's screens know of analytics: a method an event, with what the
// screen has at hand. What is to be known of it is computed there, and named by types. A registry depends on
// `EventSending` alone; `SocialAnalytics` is the one place that knows providers, sessions and consent.

import Penstock

/// What the application records, area by area.
struct SocialAnalytics: Sendable {
    let feed: FeedRegistry
    let profile: ProfileRegistry
    let settings: SettingsRegistry
    let messages: MessagesRegistry
    let onboarding: OnboardingRegistry
    private let analytics: Analytics

    /// - Parameter analytics: with the providers that the application has today; tests give it others.
    init(_ analytics: Analytics) {
        self.analytics = analytics
        feed = FeedRegistry(events: analytics)
        profile = ProfileRegistry(events: analytics)
        settings = SettingsRegistry(events: analytics)
        messages = MessagesRegistry(events: analytics)
        onboarding = OnboardingRegistry(events: analytics)
        // Nobody's words leave the application, whatever an event's author thought.
        analytics.use(.redact("text", "email"))
    }

    /// The application on a host with a daemon. Nothing is sent before the user has been asked.
    static func live() -> SocialAnalytics {
        var options = Analytics.Options()
        options.application = Application(name: "Social", version: "1.0")
        return SocialAnalytics(Analytics(providers: [DaemonProvider()], consent: .undecided, options: options))
    }

    /// What the user has answered.
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

/// Somebody with an account. What is encoded here is told to whoever keeps profiles: no name, no address.
struct Member: AnalyticsUser {
    enum Plan: String, Encodable { case free, pro }

    var userID: String
    var plan: Plan
}

/// What a user can set; the settings of a session.
struct Preferences: Encodable, Equatable {
    enum Theme: String, Encodable { case light, dark }

    var theme = Theme.light
    var isPushOn = false
    var mutedWords = 0
}
