import Penstock
import PenstockTesting
import Testing

@testable import Social

@Suite struct ProfileRegistryTests {
    let analytics = Analytics(providers: [RecordingProvider()])
    var profile: ProfileRegistry { ProfileRegistry(events: analytics) }
    let before = Profile(name: "Ada", bio: "", city: "London")

    @Test func `changed fields are counted and named, but their values are not recorded`() {
        var after = before
        after.bio = "Numbers"
        after.links = ["https://example.org"]
        profile.saved(old: before, new: after)
        expect(analytics).tracked(
            "Profile Saved", ["changedFields": 2, "fields": ["bio", "links"], "isComplete": true])
    }

    @Test func `a save without a change records no event`() {
        profile.saved(old: before, new: before)
        expect(analytics).recordedNothing()
    }

    @Test func `a profile view records whether the profile is the user's own`() {
        profile.viewed(profileOf: "u_1", by: "u_1")
        profile.viewed(profileOf: "u_2", by: "u_1")
        expect(analytics).tracked(ProfileViewed(isOwn: true), times: 1).tracked(ProfileViewed(isOwn: false), times: 1)
    }
}
