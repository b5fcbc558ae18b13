// PlanInference: writes a tracking plan from events that were received, for people to review and then to enforce.
//
// Invariants:
//
// - Every event that was seen conforms to the plan, except those that the plan's comments name as left out.
// - Memory is bounded: names, properties, values and nesting have limits. What is beyond a limit is left out, and the
//   plan says so.
// - No value of an event is in the plan, except small sets of texts (`enum`) that events of several users share and
//   that do not look like personal data. The names of events and properties are in the plan. Names that look like
//   personal data are left out.
// - The text depends only on the events and their order.
//
// Threads: an inference belongs to one thread.
//
// It reads no files and knows no journal. It never checks an event: Routing (`Plans/`) does.

import Events
import Routing

/// Observes events, and infers a tracking plan from them. One thread.
package final class PlanInference {
    /// The events of one name, or the users or groups.
    final class Subject {
        var events: UInt64 = 0
        let object = ObservedObject(depth: 0)
    }

    /// The events of one kind.
    struct Names {
        var subjects: [[UInt8]: Subject] = [:]
        /// Events whose name cannot be in the plan, or that are beyond the limit.
        var omitted: UInt64 = 0
    }

    /// The most names of each kind of event.
    static let maximumNames = 500

    private(set) var names: [EventKind: Names] = [:]
    private(set) var traits: [EventKind: Subject] = [:]
    /// The number of events observed.
    package private(set) var events: UInt64 = 0

    /// Whether nothing was observed that a plan can describe.
    package var isEmpty: Bool { names.isEmpty && traits.isEmpty }

    private let fields = PathReader(PlanInference.paths)
    private var context = ObservationContext()

    private static let paths = PathSet([
        FieldPath(["properties"]), TraitsPaths.traits, FieldPath(["name"]), TraitsPaths.context,
    ])

    package init() {}

    /// Observes an event that passed admission.
    package func observe(_ json: Span<UInt8>, _ index: EventIndex) {
        guard fields.read(json) != .unreadable else { return }
        events += 1
        context.event = events
        context.user = Self.user(json, index)
        switch index.kind {
        case .alias: return
        case .track:
            let name = index.event.isPresent ? Self.text(json, index.event, index.flags.contains(.eventEscaped)) : []
            observe(json, named: name, of: .track)
        case .page, .screen:
            let name = fields[2].isString ? Self.text(json, fields[2].slice, fields[2].type == .escapedString) : []
            observe(json, named: name, of: index.kind)
        case .identify, .group:
            let subject = traits[index.kind] ?? Subject()
            traits[index.kind] = subject
            subject.events += 1
            subject.object.observe(TraitsPaths.value(fields[1], fields[3], of: index.kind), json, &context)
        }
    }

    private func observe(_ json: Span<UInt8>, named name: [UInt8]?, of kind: EventKind) {
        guard let name, let subject = subject(named: name, of: kind) else {
            names[kind, default: Names()].omitted += 1
            return
        }
        subject.events += 1
        subject.object.observe(fields[0], json, &context)
    }

    /// nil: the plan cannot have it.
    private func subject(named name: [UInt8], of kind: EventKind) -> Subject? {
        if let known = names[kind]?.subjects[name] { return known }
        guard names[kind]?.subjects.count ?? 0 < Self.maximumNames, kind != .track || !name.isEmpty,
            name.isEmpty || context.mayName(name)
        else { return nil }
        let subject = Subject()
        names[kind, default: Names()].subjects[name] = subject
        return subject
    }

    /// nil: invalid escapes, which an accepted event does not have.
    private static func text(_ json: Span<UInt8>, _ slice: Slice, _ isEscaped: Bool) -> [UInt8]? {
        var text: [UInt8] = []
        guard isEscaped else {
            text.append(contentsOf: json.extracting(slice.range))
            return text
        }
        return JSONText.unescape(json.extracting(slice.range), into: &text) ? text : nil
    }

    /// Tells users apart.
    private static func user(_ json: Span<UInt8>, _ index: EventIndex) -> UInt64 {
        let id = index.userID.isPresent ? index.userID : index.anonymousID
        guard id.isPresent else { return 0 }
        // FNV-1a: the same in every run, so that the plan is, too.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        let bytes = json.extracting(id.range)
        for place in bytes.indices { hash = (hash ^ UInt64(bytes[place])) &* 0x100_0000_01B3 }
        return hash
    }
}

/// What all observed objects of an inference share.
struct ObservationContext {
    /// The most properties of the whole plan, and the most bytes of their names. A plan's file has at most 1 MiB.
    static let maximumProperties = 5_000
    static let maximumNameBytes = 200 << 10
    /// In bytes, as in a plan.
    private static let longestName = 200

    /// The number of the event.
    var event: UInt64 = 0
    /// A hash of the event's user; 0: none.
    var user: UInt64 = 0
    /// A number for each object observed.
    var object: UInt64 = 0
    private var properties = 0
    private var nameBytes = 0
    private var personal = PersonalText()

    /// Whether an event or a property may have this name in a plan.
    mutating func mayName(_ name: [UInt8]) -> Bool {
        guard !name.isEmpty, name.count <= Self.longestName else { return false }
        // A name may be longer than a value, and may hold a number.
        if name.contains(UInt8(ascii: "@")) || name.count <= 40 && personal.mayIdentify(name.span) { return false }
        guard let text = String(validating: name, as: UTF8.self) else { return false }
        // A plan's reader drops a byte order mark.
        return text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control && $0 != "\u{FEFF}" }
    }

    /// Takes room for a property.
    /// - Returns: false if the plan has no more room.
    mutating func takeRoom(for name: [UInt8]) -> Bool {
        guard properties < Self.maximumProperties, nameBytes + name.count <= Self.maximumNameBytes else { return false }
        properties += 1
        nameBytes += name.count
        return true
    }

    mutating func mayIdentify(_ text: Span<UInt8>) -> Bool { personal.mayIdentify(text) }
}
