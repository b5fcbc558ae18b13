import Penstock
import PenstockTesting
import Testing

@testable import Social

@Suite struct SocialAnalyticsTests {
    let recording = RecordingProvider()

    private func analytics(consent: Consent = .on) -> Analytics { Analytics(providers: [recording], consent: consent) }

    @Test func `signing in identifies the user, and every event records the application's state`() throws {
        let social = SocialAnalytics(analytics())
        social.started(with: Preferences())
        social.profile.viewed(profileOf: "u_1", by: "u_2")
        social.signedIn(Member(userID: "u_2", plan: .pro), with: Preferences())
        social.changed(Preferences(), to: Preferences(theme: .dark))
        social.profile.viewed(profileOf: "u_1", by: "u_2")
        expect(recording).identified("u_2", traits: ["plan": "pro"])
        let views = recording.tracks.filter { $0.name == "Profile Viewed" }
        try #require(views.count == 2)
        #expect(views.map { $0.session?["kind"] } == ["unauthenticated", "authenticated"])
        #expect(views.map { $0.session?["theme"] } == ["light", "dark"])
        #expect(views.map(\.userID) == [nil, "u_2"])
    }

    @Test func `signing out separates the next user from the last one`() {
        let analytics = analytics()
        let social = SocialAnalytics(analytics)
        social.signedIn(Member(userID: "u_2", plan: .free), with: Preferences())
        let anonymousID = analytics.anonymousID
        social.signedOut()
        social.messages.searched(results: 1)
        #expect(recording.tracks.last?.userID == nil)
        #expect(recording.tracks.last?.anonymousID != anonymousID)
        #expect(recording.tracks.last?.session == nil)
    }

    @Test(arguments: [true, false])
    func `events are held until the user answers, and the answer decides about them`(isAllowed: Bool) {
        let social = SocialAnalytics(analytics(consent: .undecided))
        social.messages.searched(results: 1)
        #expect(recording.events.isEmpty)
        social.answered(analytics: isAllowed, marketing: false)
        #expect(recording.tracks.count == (isAllowed ? 1 : 0))
    }

    @Test func `no text leaves the application, whatever an event contains`() {
        let analytics = analytics()
        _ = SocialAnalytics(analytics)
        analytics.track("Comment Written", ["text": "secret", "post": ["email": "a@example.org", "id": 1]])
        expect(recording).tracked("Comment Written", ["post": ["id": 1]])
    }
}
