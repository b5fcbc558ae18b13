/// A fixed set of names, numbered in the order given. Immutable; usable from any thread.
struct NumberedNames: Sendable {
    private let sets: ByteStringSets
    private let names: ByteStringSets.Member

    init(_ names: [String]) {
        var sets = ByteStringSets()
        self.names = sets.add(names)
        self.sets = sets
    }

    func contains(_ name: Span<UInt8>) -> Bool { number(of: name) != nil }

    func number(of name: Span<UInt8>) -> Int? { sets.number(of: name, in: names).map(Int.init) }
}
