import Penstock

enum SettingsEvent: AnalyticsEvent, Equatable {
    case themeChanged(theme: String)
    case pushSwitched(isOn: Bool)
    case wordsMuted(count: Int)
    case accountDeleted(afterDays: Int)

    /// Somebody who leaves is counted whatever they have agreed to: the event says nothing about them.
    var consentCategory: ConsentCategory {
        if case .accountDeleted = self { .necessary } else { .analytics }
    }
}

struct SettingsRegistry: Sendable {
    let events: any EventSending

    /// An event for each setting that is another one now.
    func changed(_ old: Preferences, to new: Preferences) {
        if old.theme != new.theme { events.track(SettingsEvent.themeChanged(theme: new.theme.rawValue)) }
        if old.isPushOn != new.isPushOn { events.track(SettingsEvent.pushSwitched(isOn: new.isPushOn)) }
        if new.mutedWords > old.mutedWords { events.track(SettingsEvent.wordsMuted(count: new.mutedWords - old.mutedWords)) }
    }

    func accountDeleted(afterDays days: Int) { events.track(SettingsEvent.accountDeleted(afterDays: days)) }
}
