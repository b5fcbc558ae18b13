/// The result of a campaign.
struct Summary: Sendable {
    var seeds = 0
    var duration = Duration.zero
    var violations: [(seed: UInt64, text: String)] = []
    /// The sum of all trace hashes. It does not depend on the order of the seeds.
    private var hash: UInt64 = 0
    private var counts = [Int](repeating: 0, count: World.Count.allCases.count)
    private var faults = [Int](repeating: 0, count: Faults.Kind.allCases.count)

    mutating func add(_ world: World) {
        seeds += 1
        hash &+= world.trace.hash
        for index in counts.indices { counts[index] += world.counts[index] }
        for index in faults.indices { faults[index] += world.faults.counts[index] }
    }

    var text: String {
        var lines = ["\(seeds) seeds in \(duration), traces \(String(hash, radix: 16))"]
        lines.append(World.Count.allCases.map { "\(counts[$0.rawValue]) \($0)" }.joined(separator: ", "))
        lines.append("faults: " + Faults.Kind.allCases.map { "\(faults[$0.rawValue]) \($0)" }.joined(separator: ", "))
        for (seed, text) in violations {
            lines.append(
                "FAILED seed \(seed): \(text)\n  again: simulate --first \(seed) --seeds 1 --threads 1 --trace")
        }
        return lines.joined(separator: "\n")
    }
}
