import Penstock
import PenstockTesting
import Testing

@testable import Social

@Suite struct SettingsRegistryTests {
    let analytics = Analytics(providers: [RecordingProvider()])
    var settings: SettingsRegistry { SettingsRegistry(events: analytics) }

    @Test func `each setting that is another one is an event`() {
        settings.changed(Preferences(), to: Preferences(theme: .dark, isPushOn: true, mutedWords: 3))
        expect(analytics)
            .tracked(SettingsEvent.themeChanged(theme: "dark")).tracked(SettingsEvent.pushSwitched(isOn: true))
            .tracked(SettingsEvent.wordsMuted(count: 3))
            .trackedNames("Theme Changed", "Push Switched", "Words Muted")
    }

    @Test func `a setting that is as it was is none, nor is a word that is heard again`() {
        settings.changed(Preferences(mutedWords: 3), to: Preferences(mutedWords: 1))
        expect(analytics).recordedNothing()
    }

    @Test func `an account's end is counted although nothing else may be`() {
        analytics.consent = .categories([.necessary])
        settings.changed(Preferences(), to: Preferences(isPushOn: true))
        settings.accountDeleted(afterDays: 30)
        expect(analytics).trackedNames("Account Deleted")
    }
}
