/// The source of every decision in a world: SplitMix64. The same seed gives the same numbers for ever,
/// on any machine, so a seed is a whole run.
struct Generator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Evenly from `0..<bound`; 0 where there is nothing to choose from.
    mutating func below(_ bound: Int) -> Int {
        bound > 0 ? Int(next() >> 33) % bound : 0
    }

    mutating func within(_ range: ClosedRange<Int>) -> Int { range.lowerBound + below(range.count) }

    /// True once in so many times; never for 0.
    mutating func oneIn(_ times: Int) -> Bool { times > 0 && below(times) == 0 }

    mutating func percent(_ share: Int) -> Bool { below(100) < share }

    mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }

    /// Another generator, whose numbers have nothing to do with this one's.
    mutating func fork() -> Generator { Generator(seed: next()) }
}
