import ConfigurationSyntax
import TrackingPlan

/// The types to generate from a plan, with their names resolved, before they are written as text.
struct PlanCode {
    /// The name of the outermost type.
    var name: String
    /// The file's name for comments.
    var file: String
    var events: [EventCode] = []
    var pages: [EventCode] = []
    var screens: [EventCode] = []
    var userTraits: StructCode?
    var groupTraits: StructCode?
    var registries: [RegistryCode] = []

    struct EventCode {
        /// The event's name in the plan and on the wire.
        var name: String
        var place: Place
        var code: StructCode
        var method: String
    }

    struct RegistryCode {
        var name: String
        /// nil: the registry of the events without an area.
        var area: String?
        var events: [EventCode]
    }
}

/// A struct for an object's properties.
struct StructCode {
    struct Member {
        var name: String
        /// The property's name on the wire.
        var key: String
        /// The type without a question mark.
        var type: String
        var isRequired: Bool
        var documentation: [String]
        /// nil: not deprecated. Otherwise the message, which may be nil.
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

/// The names declared in one scope, each with the place in the plan that it comes from. Reports conflicts.
struct NameScope {
    /// The scope's name in messages.
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
