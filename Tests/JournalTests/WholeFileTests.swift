import Events
import Journal
import Platform
import Testing
import damage

/// Files of a stopped journal are missing, zeroed, older, swapped or from another journal. The journal reports
/// the exact positions that are lost, keeps all others, and never starts an empty journal over existing data.
@Suite struct WholeFileTests {
    /// Makes three segments and a cursor at 5.
    private static func image() throws -> (ledger: Ledger, disk: DiskImage) {
        let disk = DiskImage()
        let (ledger, journal) = try Ledger.fill(3, disk)
        try journal.declare(destinations: [(name: "archive", start: 0)])
        journal.advance("archive", to: JournalCursor(position: 5))
        journal.stop()
        return (ledger, disk)
    }

    private static func path(_ name: String) -> String { Ledger.directory + "/" + name }

    enum Change: CaseIterable {
        case firstGone, middleGone, lastGone, middleZeroed, lastZeroed, swapped, middleOlder, lastOlder
        case cursorsGone, cursorsZeroed, spareGone, spareHoldsData
    }

    @Test(arguments: Change.allCases)
    func `exactly the positions of a lost file are reported as gaps`(_ change: Change) throws {
        let (ledger, disk) = try Self.image()
        let names = ledger.segments
        let paths = names.map { Ledger.path($0) }
        let ends = Array(names.dropFirst()) + [ledger.end]
        let ranges = zip(names, ends).map { $0..<$1 }
        let half = Ledger.segmentSize / 2
        func older(_ index: Int) -> Range<UInt64> {
            disk.change(paths[index]) { bytes in for place in half..<bytes.count { bytes[place] = 0 } }
            let kept = ledger.batches.filter { $0.segment == names[index] && $0.bytes.upperBound <= half }
            return (kept.last?.positions.upperBound ?? names[index])..<ends[index]
        }
        func zero(_ path: String) { disk.change(path) { $0 = Array(repeating: 0, count: $0.count) } }
        var lost: [Range<UInt64>] = []
        switch change {
        case .firstGone: (disk[paths[0]], lost) = (nil, [5..<ranges[0].upperBound])
        case .middleGone: (disk[paths[1]], lost) = (nil, [ranges[1]])
        case .lastGone: (disk[paths[2]], lost) = (nil, [ranges[2]])
        case .middleZeroed: (_, lost) = (zero(paths[1]), [ranges[1]])
        case .lastZeroed: (_, lost) = (zero(paths[2]), [ranges[2]])
        case .swapped:
            (disk[paths[1]], disk[paths[2]]) = (disk[paths[2]], disk[paths[1]])
            lost = [ranges[1], ranges[2]]
        case .middleOlder: lost = [older(1)]
        case .lastOlder: lost = [older(2)]
        case .cursorsGone: disk[Self.path("cursors")] = nil
        case .cursorsZeroed: zero(Self.path("cursors"))
        case .spareGone: disk[Self.path("spare")] = nil
        case .spareHoldsData: disk[Self.path("spare")] = disk[paths[1]]
        }
        // The second start must find the same as the first.
        for _ in 0..<2 {
            let journal = try Ledger.open(disk)
            try journal.declare(destinations: [(name: "archive", start: 0)])
            journal.start()
            defer { journal.stop() }
            let isCursorLost = change == .cursorsGone || change == .cursorsZeroed
            #expect(journal.cursor(of: "archive")?.position ?? 99 <= (isCursorLost ? 0 : lost.first?.upperBound ?? 5))
            #expect(journal.statistics().next >= ledger.end, "no position is assigned twice")
            let first = change == .firstGone ? ranges[1].lowerBound : 0
            let missing = Set((first..<ledger.end).filter { position in lost.contains { $0.contains(position) } })
            #expect(try Self.read(journal, ledger) == Set(first..<ledger.end).subtracting(missing))
            // A gap is reported at the start, or when a reader reaches it.
            var reported = Set(journal.statistics().gaps.flatMap { Array($0.positions) })
            if change == .firstGone { reported = reported.intersection(Set(lost[0])) }
            #expect(reported == Set(lost.flatMap { Array($0) }))
        }
        if change == .spareHoldsData {
            // The data is in quarantine/, or still in the spare if no spare was needed.
            #expect(disk.paths.contains { $0 != paths[1] && disk[$0] == disk[paths[1]] }, "the data is kept")
        }
    }

    /// Reads all events and compares their bytes.
    /// - Returns: the positions that were read.
    private static func read(_ journal: Journal, _ ledger: Ledger) throws -> Set<UInt64> {
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        var positions: Set<UInt64> = []
        while try reader.read(into: &batch, maximumBytes: 64 << 10) {
            for event in batch.events {
                #expect(batch.text(of: event) == ledger.events[Int(event.position)])
                #expect(positions.insert(event.position).inserted)
            }
        }
        return positions
    }

    @Test func `a segment with a damaged first batch is still recognized as the journal's own`() throws {
        let disk = DiskImage()
        let (ledger, journal) = try Ledger.fill(1, disk)
        journal.stop()
        let first = ledger.batches[0]
        disk.change(Ledger.path(0)) { $0[first.bytes.lowerBound] ^= 1 }
        disk.change(Self.path("cursors")) { $0 = Array(repeating: 0, count: $0.count) }
        let again = try Ledger.open(disk)
        #expect(try Self.read(again, ledger) == Set(first.positions.upperBound..<ledger.end))
        again.stop()
    }

    enum Refused: CaseIterable { case manifestGone, manifestZeroed, manifestOfAnother, segmentsGone }

    @Test(arguments: Refused.allCases)
    func `a journal without its manifest or its segments is refused and not changed`(_ change: Refused) throws {
        let (ledger, disk) = try Self.image()
        let manifest = Self.path("manifest")
        switch change {
        case .manifestGone: disk[manifest] = nil
        case .manifestZeroed: disk.change(manifest) { $0 = Array(repeating: 0, count: $0.count) }
        case .manifestOfAnother: disk[manifest] = try Self.image().disk[manifest]
        case .segmentsGone: for segment in ledger.segments { disk[Ledger.path(segment)] = nil }
        }
        let before = disk.copy()
        for _ in 0..<2 {
            let error = #expect(throws: JournalError.self) { _ = try Ledger.open(disk) }
            #expect(error?.code == .inconsistent, "\(String(describing: error))")
        }
        #expect(disk.paths.filter { !$0.contains("/quarantine/") } == before.paths)
        for path in before.paths { #expect(disk[path] == before[path]) }
    }
}
