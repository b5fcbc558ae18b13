import Journal

/// Seeds that once found something, run with every campaign. What a seed does changes when the worlds do;
/// what it found then is in the tests of the room, too (KnownErrors).
struct RegressionSeed {
    var seed: UInt64
    var found: String

    static let all = [
        RegressionSeed(seed: 3, found: "a journal directory whose own name was not durable"),
        RegressionSeed(seed: 5, found: "a seal, and what it seals, that only the page cache held after a kill"),
        RegressionSeed(seed: 31, found: "a cursor that stayed below damage behind the last event"),
        RegressionSeed(seed: 37, found: "a reader that began within damage, and told nobody"),
        RegressionSeed(seed: 50, found: "a failed sync, a kill, and lost pages that looked clean"),
        RegressionSeed(seed: 79, found: "dead letters in a file whose name only the page cache held"),
        RegressionSeed(seed: 103, found: "a destination that started above everything that was ever durable"),
        RegressionSeed(seed: 189, found: "a copy in quarantine, told of and gone"),
        RegressionSeed(seed: 398, found: "a cursor that a kill left in the page cache, taken for durable"),
        RegressionSeed(seed: 505, found: "events left unseen when the sync mode went from an interval to never"),
        RegressionSeed(seed: 806, found: "acknowledged events passed over in silence when a file failed after a reload"),
        RegressionSeed(seed: 1068, found: "a journal without a segment, because the only one was set aside"),
        RegressionSeed(seed: 2033, found: "damage that had grown since it was told"),
        RegressionSeed(seed: 20_000_084_118, found: "live cursors whose last slot was not read back"),
        RegressionSeed(seed: 20_000_188_930, found: "a live cursor that was thrown away with the events above the journal's end"),
        RegressionSeed(seed: 20_000_973_772, found: "a replay that waited for a live event that never came"),
        RegressionSeed(seed: 20_000_865_875, found: "damage that was reported in two parts, and then once more as a whole"),
        RegressionSeed(seed: 2321, found: "a spare renamed before its own name was durable, and emptied by the next one"),
        RegressionSeed(seed: 7_023_740, found: "the only slot of the cursors on disk written over, after a kill in the other one"),
        RegressionSeed(seed: 90_083_641, found: "a journal refused as another one's, when nothing of it was on disk"),
        RegressionSeed(seed: 1_947_238_275, found: "a removed segment that a power cut brought back, and a hole behind it"),
    ]

    /// Prints what fails.
    static func allPass() -> Bool {
        var isWell = true
        for regression in all {
            let world = World(seed: regression.seed, protections: .all, prints: false)
            world.run()
            guard let violation = world.trace.violation else { continue }
            print("FAILED regression seed \(regression.seed) (\(regression.found)): \(violation)")
            isWell = false
        }
        return isWell
    }
}
