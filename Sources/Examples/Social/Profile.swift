import Penstock

struct Profile: Equatable {
    var name: String
    var bio: String
    var city: String
    var links: [String] = []
}

/// A struct, because it computes its properties.
struct ProfileSaved: AnalyticsEvent, Equatable {
    let changedFields: Int
    let fields: [String]
    let isComplete: Bool

    init(old: Profile, new: Profile) {
        var fields: [String] = []
        if old.name != new.name { fields.append("name") }
        if old.bio != new.bio { fields.append("bio") }
        if old.city != new.city { fields.append("city") }
        if old.links != new.links { fields.append("links") }
        self.fields = fields
        changedFields = fields.count
        isComplete = ![new.name, new.bio, new.city].contains("")
    }
}

struct ProfileViewed: AnalyticsEvent, Equatable {
    var isOwn: Bool
}

struct ProfileRegistry: Sendable {
    let events: any EventSending

    func viewed(profileOf userID: String, by viewerID: String) {
        events.track(ProfileViewed(isOwn: userID == viewerID))
    }

    /// Saving an unchanged profile is not an event.
    func saved(old: Profile, new: Profile) {
        guard old != new else { return }
        events.track(ProfileSaved(old: old, new: new))
    }
}
