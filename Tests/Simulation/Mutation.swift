import Journal

/// A protection that is taken out, and the seed that notices.
struct Mutation {
    var name: String
    var without: Protections
    /// nil: none does within the bound, and the documentation says why.
    var seed: UInt64?

    static func named(_ name: String) -> Mutation? { all.first { $0.name == name } }

    static let all: [Mutation] = []
}

struct MutationGate {
    init(_ arguments: Arguments) {}
    func passes() -> Bool { true }
}
