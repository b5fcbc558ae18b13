import Penstock
import PenstockTesting
import Testing

@testable import Social

@Suite struct OnboardingRegistryTests {
    let recording = RecordingProvider()
    let analytics: Analytics
    var onboarding: OnboardingRegistry { OnboardingRegistry(events: analytics) }

    init() { analytics = Analytics(providers: [recording]) }

    @Test func `a tour is a timed event whose end records the steps that were seen`() throws {
        var tour = onboarding.begin()
        tour.show(.welcome)
        tour.show(.interests)
        tour.show(.welcome)
        tour.finish()
        expect(analytics)
            .trackedNames("Onboarding", "Step Shown", "Step Shown", "Onboarding")
            .tracked(OnboardingEvent.onboarding(stepsSeen: 2, isSkipped: false), times: 1)
            .tracked(OnboardingEvent.stepShown(step: "welcome"), times: 1)
        let timings = recording.events.compactMap(\.timing)
        try #require(timings.count == 2)
        #expect(timings[0].phase == .start)
        #expect(timings[1].id == timings[0].id)
        #expect(timings[1].seconds != nil)
    }

    @Test func `a skipped tour records how far it got`() {
        var tour = onboarding.begin()
        tour.show(.welcome)
        tour.skip()
        expect(analytics).tracked(OnboardingEvent.onboarding(stepsSeen: 1, isSkipped: true))
    }
}
