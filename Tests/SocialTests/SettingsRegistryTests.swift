import Penstock
import PenstockTesting
import Testing

@testable import Social

@Suite struct SettingsRegistryTests {
    let analytics = Analytics(providers: [RecordingProvider()])
    var settings: SettingsRegistry { SettingsRegistry(events: analytics) }

    @Test func `each changed setting is an event`() {
        settings.changed(Preferences(), to: Preferences(theme: .dark, isPushOn: true, mutedWords: 3))
        expect(analytics)
            .tracked(SettingsEvent.themeChanged(theme: "dark")).tracked(SettingsEvent.pushSwitched(isOn: true))
            .tracked(SettingsEvent.wordsMuted(count: 3))
            .trackedNames("Theme Changed", "Push Switched", "Words Muted")
    }

    @Test func `an unchanged setting or an unmuted word is not an event`() {
        settings.changed(Preferences(mutedWords: 3), to: Preferences(mutedWords: 1))
        expect(analytics).recordedNothing()
    }

    @Test func `a deleted account is recorded even with consent to necessary events only`() {
        analytics.consent = .categories([.necessary])
        settings.changed(Preferences(), to: Preferences(isPushOn: true))
        settings.accountDeleted(afterDays: 30)
        expect(analytics).trackedNames("Account Deleted")
    }
}
