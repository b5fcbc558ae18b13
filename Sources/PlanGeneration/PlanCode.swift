// PlanGeneration: a tracking plan to Swift that an application compiles, so that an event that is not in
// the plan, or a property that it does not have, is the compiler's error.
//
// - The same plan gives the same text, on every machine: everything stands in the plan's order.
// - Every name of the plan's makes a name of Swift's. Two that make the same one are an error that names
//   both places; nothing is numbered.
// - It writes text and no file, and knows the plan alone: it runs in an application's build.

import ConfigurationLanguage
import TrackingPlan

/// What is generated from a plan, before it is written: types with their names settled.
struct PlanCode {
    /// The type that everything is in.
    var name: String
    /// As shown in comments.
    var file: String
    var events: [EventCode] = []
    var pages: [EventCode] = []
    var screens: [EventCode] = []
    var userTraits: StructCode?
    var groupTraits: StructCode?
    var registries: [RegistryCode] = []

    struct EventCode {
        /// On the wire.
        var name: String
        var code: StructCode
        var method: String
    }

    struct RegistryCode {
        var name: String
        /// nil: what has no area.
        var area: String?
        var events: [EventCode]
    }
}

/// Properties as a struct.
struct StructCode {
    struct Member {
        var name: String
        /// On the wire.
        var key: String
        /// Without the question mark.
        var type: String
        var isRequired: Bool
        var documentation: [String]
        /// nil: not deprecated; else the message, if there is one.
        var deprecation: String??

        var fullType: String { isRequired ? type : type + "?" }
    }

    var name: String
    var documentation: [String]
    var deprecation: String??
    var members: [Member] = []
    var structs: [StructCode] = []
    var enums: [EnumCode] = []
    var allowsAdditional = false
}

struct EnumCode {
    var name: String
    var cases: [(name: String, value: String)]
}

/// The names of one scope, each with the place of what it was made from.
struct NameScope {
    /// For messages: "the plan".
    let owner: String
    private var taken: [String: (origin: String, place: Place)] = [:]

    init(of owner: String) { self.owner = owner }

    mutating func claim(_ name: String, for origin: String, at place: Place, _ diagnostics: Diagnostics) {
        guard let first = taken[name] else {
            taken[name] = (origin, place)
            return
        }
        diagnostics.error(
            at: place, "\(quoted(origin)) and \(quoted(first.origin)) are both \(name) in \(owner)",
            hint: "rename one of the two, or generate no code from this plan",
            note: .init("the first one is here", at: first.place))
    }
}
