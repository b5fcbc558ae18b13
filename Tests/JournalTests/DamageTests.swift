import Testing
import damage

/// A sample of what `make torture` does with every byte and bit.
@Suite struct DamageTests {
    @Test(arguments: DamagedSegment.Place.allCases)
    func damageAnywhereInASegmentIsToldExactlyAndCostsNothingElse(_ place: DamagedSegment.Place) throws {
        // A prime, so that bits, cuts and zeros all have their turn.
        let run = try DamageRun(place).run(every: 4001)
        #expect(run.cases > 100)
        #expect(run.failures == 0, "\(run.findings.joined(separator: "\n"))")
    }
}
