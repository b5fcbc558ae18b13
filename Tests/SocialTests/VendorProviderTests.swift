import Penstock
import Synchronization
import Testing

@testable import Social

/// Replaces the vendors' SDKs and records their calls.
private final class Calls: FirebaseWrapper, MixpanelWrapper, Funnel {
    private let kept = Mutex<[String]>([])
    var all: [String] { kept.withLock { $0 } }

    private func keep(_ call: String) { kept.withLock { $0.append(call) } }

    func logEvent(_ name: String, parameters: [String: PropertyValue]) {
        keep("log \(name) \(parameters.keys.sorted())")
    }
    func setUserID(_ userID: String?) { keep("user \(userID ?? "-")") }
    func track(event: String, properties: [String: PropertyValue]) {
        keep("track \(event) \(PropertyValue.dictionary(properties))")
    }
    func step(_ name: String, weight: Int) { keep("step \(name) \(weight)") }
    func time(event: String) { keep("time \(event)") }
    func identify(distinctID: String) { keep("identify \(distinctID)") }
    func set(properties: [String: PropertyValue]) { keep("set \(PropertyValue.dictionary(properties))") }
}

@Suite struct VendorProviderTests {
    private let calls = Calls()

    private func use(_ provider: any AnalyticsProvider) {
        let analytics = Analytics(providers: [provider])
        analytics.identify("u_1", traits: ["plan": "pro"])
        analytics.track(FeedEvent.postLiked(postID: 1, isOwn: false))
        let tour = OnboardingRegistry(events: analytics).begin()
        tour.skip()
        analytics.screen("Inbox")
    }

    @Test func `Firebase gets its own spelling, and the closest equivalent of unknown kinds`() {
        use(FirebaseProvider(wrapper: calls))
        #expect(
            calls.all == [
                "user u_1", #"log post_liked ["isOwn", "postID"]"#,
                #"log onboarding ["duration", "isSkipped", "stepsSeen"]"#,
                "log viewed_inbox_screen []",
            ])
    }

    @Test func `the funnel gets the steps of the feed's events`() {
        let analytics = Analytics(providers: [FunnelProvider(funnel: calls)])
        let feed = FeedRegistry(events: analytics)
        let post = Post(id: 1, authorID: "u_1", text: "a b", images: 0)
        feed.opened(post, at: 0)
        feed.liked(post, by: "u_1")
        feed.liked(post, by: "u_2")
        feed.shared(post)
        analytics.screen("Inbox")
        #expect(calls.all == ["step read 1", "step engage 2", "step spread 5"])
    }

    @Test func `Mixpanel measures the duration itself`() {
        use(MixpanelProvider(wrapper: calls))
        #expect(
            calls.all == [
                "identify u_1", #"set {"plan":"pro"}"#, #"track Post Liked {"isOwn":false,"postID":1}"#,
                "time Onboarding",
                #"track Onboarding {"isSkipped":true,"stepsSeen":0}"#, "track Viewed Inbox Screen {}",
            ])
    }
}
