import Journal

/// Seeds that once found an error. They run with every campaign. A seed's run changes when the worlds change, so
/// the room's tests also have a test for each error (KnownErrors).
struct RegressionSeed {
    var seed: UInt64
    var found: String

    static let all = [
        RegressionSeed(seed: 3, found: "the entry of the journal directory was not durable"),
        RegressionSeed(seed: 5, found: "after a kill, a seal and its events were only in the page cache"),
        RegressionSeed(seed: 31, found: "a cursor stayed below damage after the last event"),
        RegressionSeed(seed: 37, found: "a reader that started in damage did not report it"),
        RegressionSeed(seed: 50, found: "after a failed sync and a kill, lost pages looked clean"),
        RegressionSeed(seed: 79, found: "the entry of a file with dead letters was only in the page cache"),
        RegressionSeed(seed: 103, found: "a destination started above the durable end"),
        RegressionSeed(seed: 189, found: "a reported copy in quarantine was missing"),
        RegressionSeed(seed: 398, found: "a cursor that a kill left in the page cache was taken for durable"),
        RegressionSeed(
            seed: 505, found: "events stayed unpublished when the sync mode changed from an interval to never"),
        RegressionSeed(
            seed: 806, found: "acknowledged events were skipped without a report when a file failed after a reload"),
        RegressionSeed(seed: 1068, found: "a journal had no segment because the only one was set aside"),
        RegressionSeed(seed: 2033, found: "damage had grown since it was reported"),
        RegressionSeed(seed: 20_000_084_118, found: "the last slot of the live cursors was not read"),
        RegressionSeed(
            seed: 20_000_188_930, found: "a live cursor was discarded with the events above the journal's end"),
        RegressionSeed(seed: 20_000_973_772, found: "a replay waited for a live event that never came"),
        RegressionSeed(seed: 20_000_865_875, found: "damage was reported in two parts and then again as a whole"),
        RegressionSeed(
            seed: 60_000_031_942, found: "a dead letter removed without its retry: two had its position"),
        RegressionSeed(seed: 60_000_920_806, found: "the same, with four ends between the two letters"),
        RegressionSeed(
            seed: 60_000_671_582, found: "cursors were written to a file whose name was not durable, on a full disk"),
        RegressionSeed(
            seed: 60_000_810_230, found: "damage to a batch in the last bytes of a truncated file was not noted"),
        RegressionSeed(seed: 60_000_205_300, found: "a replay's JSON in another order each time"),
        RegressionSeed(seed: 60_000_959_500, found: "the same, in another world"),
        RegressionSeed(seed: 70_000_677_906, found: "a second flip of the same bit brought a lost event back"),
        RegressionSeed(
            seed: 70_000_900_710, found: "an old sector of the live cursors passed an event that had its positions"),
        RegressionSeed(seed: 70_000_970_358, found: "the same, in another world"),
        RegressionSeed(
            seed: 179_542_073_200_046,
            found: "the journal waited for ever, because a segment stayed for its lanes alone"),
        RegressionSeed(
            seed: 2321, found: "a spare was renamed before its entry was durable, and the next one emptied it"),
        RegressionSeed(
            seed: 7_023_740,
            found: "after a kill during a write of one cursor slot, the only slot on disk was overwritten"),
        RegressionSeed(seed: 90_083_641, found: "a journal with no data on disk was refused as another journal's"),
        RegressionSeed(
            seed: 130_000_133_194, found: "a seal that arrived without all events before it counted a lane's position"),
        RegressionSeed(seed: 1_947_238_275, found: "a power cut restored a removed segment, with a gap after it"),
    ]

    /// Runs the seeds and prints those that fail.
    static func allPass() -> Bool {
        var isWell = true
        for regression in all {
            let worlds = (0..<2).map { _ in World(seed: regression.seed, protections: .all, prints: false) }
            for world in worlds { world.run() }
            let differs = worlds[0].trace.hash != worlds[1].trace.hash
            let difference = differs ? "the same seed ran differently the second time" : nil
            guard let violation = worlds[0].trace.violation ?? difference else { continue }
            print("FAILED regression seed \(regression.seed) (\(regression.found)): \(violation)")
            isWell = false
        }
        return isWell
    }
}
