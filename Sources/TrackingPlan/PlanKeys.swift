import ConfigurationSyntax

/// A plan while it is read. A draft is needed because `additional`, the default for all events, may come last in the
/// file.
struct PlanDraft: Sendable {
    var name: TrackingPlan.Named?
    var onViolation = TrackingPlan.OnViolation.flag
    var additional = false
    var events: [Located<EventDraft>]?
    var pages: [Located<EventDraft>]?
    var screens: [Located<EventDraft>]?
    var identify: TraitsDraft?
    var group: TraitsDraft?

    func plan() -> TrackingPlan {
        TrackingPlan(
            name: name, onViolation: onViolation, events: events?.map { $0.event(additional) },
            pages: pages?.map { $0.event(additional) }, screens: screens?.map { $0.event(additional) },
            identify: identify.map { $0.traits.properties(additional) },
            group: group.map { $0.traits.properties(additional) })
    }
}

/// The keys of the whole file.
extension Section where Target == PlanDraft {
    static let plan = Section([
        Field("name", \.name, .swiftName, default: "the file's name", "the name of generated code"),
        Field("on_violation", \.onViolation, .choice, "what to do with events that violate the plan"),
        Field(
            "additional", \.additional, .flag,
            "whether events may have unplanned properties, unless an event sets it itself"),
        Field("events", \.events, .events("event"), "track events by name; others are unplanned"),
        Field("pages", \.pages, .events("page"), "pages by name, \"\" for pages without a name; others are unplanned"),
        Field("screens", \.screens, .events("screen"), "screens by name, as for pages"),
        Field("identify", \.identify, .traits, "the traits of a user"),
        Field("group", \.group, .traits, "the traits of a group"),
    ])
}

/// The keys of `events.NAME`.
struct EventDraft: Sendable {
    var properties = PropertiesDraft()
    var about = TrackingPlan.About()
    var area: TrackingPlan.Named?
}

extension Section where Target == EventDraft {
    static let event = Section([
        Field("properties", \.properties.list, .properties, default: "none", "its properties by name"),
        Field(
            "additional", \.properties.additional, .flag, default: "the plan's",
            "whether it may have unplanned properties"),
        Field("description", \.about.description, .prose, "what it means and when it happens"),
        Field("deprecated", \.about.deprecation, .deprecation, "true, or what to use instead"),
        Field("area", \.area, .swiftName, "area of the application; generated code has a registry for each area"),
    ])
}

extension Located where Draft == EventDraft {
    fileprivate func event(_ additional: Bool) -> TrackingPlan.Event {
        TrackingPlan.Event(
            name: name, place: place, properties: draft.properties.properties(additional), about: draft.about,
            area: draft.area)
    }
}

/// The keys of `identify` and `group`.
struct TraitsDraft: Sendable {
    var traits = PropertiesDraft()
}

extension Section where Target == TraitsDraft {
    static let traits = Section([
        Field("traits", \.traits.list, .properties, default: "none", "traits by name"),
        Field(
            "additional", \.traits.additional, .flag, default: "the plan's",
            "whether unplanned traits are allowed"),
    ])
}

struct PropertiesDraft: Sendable {
    var list: [PropertyDraft]?
    var additional: Bool?

    func properties(_ additional: Bool) -> TrackingPlan.Properties {
        TrackingPlan.Properties(
            list: (list ?? []).map { property in
                TrackingPlan.Property(
                    name: property.name, place: property.place, value: property.rule.value(additional),
                    isRequired: property.rule.isRequired, about: property.rule.about)
            },
            additional: self.additional ?? additional)
    }
}

struct PropertyDraft: Sendable {
    var name: String
    var place: Place
    var rule: ValueDraft
}

extension Kind where Value == [Located<EventDraft>] {
    static func events(_ what: String) -> Kind {
        let section = Section<EventDraft>.event
        return Kind(.map(of: .section(section.describe(nil)))) { node, key, diagnostics in
            guard let entries = node.entries else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map of names, not \(node.found)",
                    hint: "write the \(what)'s name, a colon, and its keys below it")
                return nil
            }
            return entries.compactMap { entry in
                guard isName(entry, of: "an event", mayBeEmpty: what != "event", diagnostics) else { return nil }
                var draft = EventDraft()
                let found = section.read(
                    entry.value, named: "\(what) \(quoted(entry.key))", into: &draft, diagnostics)
                return Located(name: entry.key, place: entry.place, draft: draft, found: found)
            }
        }
    }
}

extension Kind where Value == TraitsDraft {
    static var traits: Kind {
        let section = Section<TraitsDraft>.traits
        return Kind(.section(section.describe(nil))) { node, key, diagnostics in
            var draft = TraitsDraft()
            section.read(node, named: quoted(key), into: &draft, diagnostics)
            return draft
        }
    }
}

/// Checks the name of an event or a property. It can be any single line that an application may send.
/// - Parameter mayBeEmpty: whether the name may be empty, as for pages and screens.
func isName(_ entry: YAMLEntry, of what: String, mayBeEmpty: Bool = false, _ diagnostics: Diagnostics) -> Bool {
    let isPrintable = entry.key.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    guard mayBeEmpty || !entry.key.isEmpty, entry.key.utf8.count <= 200, isPrintable else {
        diagnostics.error(
            at: entry.place, "\(quoted(entry.key)) cannot be the name of \(what)",
            hint: "a name has 1 to 200 bytes and no control characters")
        return false
    }
    return true
}
