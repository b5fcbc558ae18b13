import Platform
import Testing

@testable import Journal

@Suite struct UnresolvedDamageTests {
    /// Leaves a journal of three events, of which the second one is damaged.
    private func damaged(_ rig: Rig) throws {
        let journal = try rig.open()
        for number in 0..<3 { try append(journal, [event(number)]) }
        #expect(journal.unresolvedDamage() == 0)
        journal.stop()
        let name = rig.path(rig.segmentNames[0])
        let bytes = try rig.bytes(name)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array(event(1).utf8)) })
        try rig.overwrite(name, [bytes[place] ^ 4], at: place)
    }

    @Test func `damage is unresolved until the copy of its bytes is deleted`() throws {
        let rig = try Rig()
        try damaged(rig)
        let journal = try rig.open()
        #expect(journal.unresolvedDamage() == 1)
        let copies = try rig.disk.list(rig.path("quarantine"))
        for copy in copies { try rig.disk.remove(rig.path("quarantine/" + copy)) }
        #expect(copies.count == 1 && journal.unresolvedDamage() == 0)
        #expect(journal.statistics().gapCount == 1)
        journal.stop()
    }

    @Test func `damage below the first position is resolved, and an interrupted write is no damage`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        let quarantine = journal.quarantine
        for (positions, reason) in [
            (0..<5, .damaged), (7..<9, .segmentMissing), (9..<10, .endMissing), (10..<20, .interrupted),
            (20..<30, .removed),
        ] as [(Range<UInt64>, Gap.Reason)] {
            quarantine.report(Gap(positions: positions, reason: reason, path: "\(positions)", bytes: 0..<0), file: nil)
        }
        #expect(quarantine.unresolved(from: 0) == 8)
        #expect(quarantine.unresolved(from: 5) == 3)
        #expect(quarantine.unresolved(from: 10) == 0)
    }
}
