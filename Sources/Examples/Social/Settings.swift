import Penstock

enum SettingsEvent: AnalyticsEvent, Equatable {
    case themeChanged(theme: String)
    case pushSwitched(isOn: Bool)
    case wordsMuted(count: Int)
    case accountDeleted(afterDays: Int)

    /// Deleted accounts are counted whatever the user has agreed to, because the event's properties do not describe
    /// them.
    var consentCategory: ConsentCategory {
        if case .accountDeleted = self { .necessary } else { .analytics }
    }
}

struct SettingsRegistry: Sendable {
    let events: any EventSending

    /// Records one event for each changed setting.
    func changed(_ old: Preferences, to new: Preferences) {
        if old.theme != new.theme { events.track(SettingsEvent.themeChanged(theme: new.theme.rawValue)) }
        if old.isPushOn != new.isPushOn { events.track(SettingsEvent.pushSwitched(isOn: new.isPushOn)) }
        if new.mutedWords > old.mutedWords {
            events.track(SettingsEvent.wordsMuted(count: new.mutedWords - old.mutedWords))
        }
    }

    func accountDeleted(afterDays days: Int) { events.track(SettingsEvent.accountDeleted(afterDays: days)) }
}
