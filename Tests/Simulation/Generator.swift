/// The source of every decision in a world: SplitMix64. A seed gives the same numbers on every machine, so it
/// determines a whole run.
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

    /// A number from `0..<bound`, evenly distributed. 0 if the range is empty.
    mutating func below(_ bound: Int) -> Int {
        bound > 0 ? Int(next() >> 33) % bound : 0
    }

    mutating func within(_ range: ClosedRange<Int>) -> Int { range.lowerBound + below(range.count) }

    /// True once in `times` calls on average. Never true for 0.
    mutating func oneIn(_ times: Int) -> Bool { times > 0 && below(times) == 0 }

    mutating func percent(_ share: Int) -> Bool { below(100) < share }

    mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }

    /// An independent generator.
    mutating func fork() -> Generator { Generator(seed: next()) }
}
