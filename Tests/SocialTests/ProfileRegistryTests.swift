import Penstock
import PenstockTesting
import Testing

@testable import Social

@Suite struct ProfileRegistryTests {
    let analytics = Analytics(providers: [RecordingProvider()])
    var profile: ProfileRegistry { ProfileRegistry(events: analytics) }
    let before = Profile(name: "Ada", bio: "", city: "London")

    @Test func `what has changed is counted and named, and not told`() {
        var after = before
        after.bio = "Numbers"
        after.links = ["https://example.org"]
        profile.saved(old: before, new: after)
        expect(analytics).tracked("Profile Saved", ["changedFields": 2, "fields": ["bio", "links"], "isComplete": true])
    }

    @Test func `saving without a change is no event`() {
        profile.saved(old: before, new: before)
        expect(analytics).recordedNothing()
    }

    @Test func `a view says whose profile it is`() {
        profile.viewed(profileOf: "u_1", by: "u_1")
        profile.viewed(profileOf: "u_2", by: "u_1")
        expect(analytics).tracked(ProfileViewed(isOwn: true), times: 1).tracked(ProfileViewed(isOwn: false), times: 1)
    }
}
