import Testing
import damage

/// A sample of what `make torture` does with every byte and bit.
@Suite struct DamageTests {
    @Test(arguments: DamagedSegment.Place.allCases)
    func `damage anywhere in a segment is reported and loses nothing else`(_ place: DamagedSegment.Place) throws {
        // A prime step covers bits, cuts and zeros.
        let run = try DamageRun(place).run(every: 4001)
        #expect(run.cases > 100)
        #expect(run.failures == 0, "\(run.findings.joined(separator: "\n"))")
    }
}
