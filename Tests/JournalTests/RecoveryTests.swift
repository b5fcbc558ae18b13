import Events
import Journal
import Platform
import Testing

@Suite struct RecoveryTests {
    /// Writes three commits to one segment and stops the journal.
    /// - Returns: the end offset of each commit.
    private func three(_ rig: Rig) throws -> [Int] {
        let journal = try rig.open()
        var ends: [Int] = []
        for number in 0..<3 {
            try append(journal, [event(2 * number), event(2 * number + 1)])
            let bytes = try rig.bytes(rig.path(rig.segmentNames[0]))
            ends.append(((bytes.lastIndex { $0 != 0 } ?? 0) + 8) & ~7)
        }
        journal.stop()
        return ends
    }

    @Test func `a write torn at any byte is sealed off and nothing else is lost`() throws {
        let source = MemoryDisk()
        let ends = try three(Rig(source))
        let name = "/journal/00000000000000000000.seg"
        let whole = try #require(source.contents(name))
        let manifest = try #require(source.contents("/journal/manifest"))
        for cut in ends[1]..<ends[2] {
            let disk = MemoryDisk()
            for (path, bytes) in [("/journal/manifest", manifest), (name, whole)] {
                let file = try disk.open(path, .createNew)
                try file.write(bytes.span, at: 0)
            }
            disk.change(name) { bytes in for index in cut..<ends[2] { bytes[index] = 0 } }
            try disk.syncDirectory("/journal")
            let rig = Rig(disk)
            let journal = try rig.open()
            let isWhole = disk.contents(name).map { $0[ends[1]..<ends[2]] == whole[ends[1]..<ends[2]] } ?? false
            let expected = isWhole ? 6 : 4
            #expect(journal.durableEnd == UInt64(expected), "cut at \(cut)")
            try append(journal, [event(100)])
            #expect(
                try readAll(journal).map(\.json) == (0..<expected).map { event($0) } + [event(100)], "cut at \(cut)")
            #expect(journal.statistics().gapCount == 0)
            journal.stop()
            // Later starts find the sealed tail whole.
            let again = try rig.open()
            #expect(try readAll(again).count == expected + 1)
            #expect(again.statistics().gapCount == 0)
            again.stop()
        }
    }

    @Test func `a segment with a torn first batch is copied to quarantine and replaced`() throws {
        let rig = try Rig()
        let ends = try three(rig)
        let name = rig.path(rig.segmentNames[0])
        try rig.overwrite(name, [UInt8](repeating: 0, count: (64 << 10) - 100), at: 100)
        // Without the cursor file, no durable end is recorded.
        try rig.disk.remove(rig.path("cursors"))
        let journal = try rig.open()
        #expect(journal.durableEnd == 0)
        try append(journal, [event(7)])
        #expect(try readAll(journal).map(\.json) == [event(7)])
        journal.stop()
        #expect(ends.count == 3)
        #expect(try rig.disk.list(rig.path("quarantine")).count == 1)
    }

    @Test func `a flipped byte in the middle loses only its batch`() throws {
        let source = MemoryDisk()
        let ends = try three(Rig(source))
        let name = "/journal/00000000000000000000.seg"
        let whole = try #require(source.contents(name))
        let manifest = try #require(source.contents("/journal/manifest"))
        for place in ends[0]..<ends[1] {
            let disk = MemoryDisk()
            for (path, bytes) in [("/journal/manifest", manifest), (name, whole)] {
                let file = try disk.open(path, .createNew)
                try file.write(bytes.span, at: 0)
            }
            disk.change(name) { $0[place] ^= 0x10 }
            let rig = Rig(disk)
            let journal = try rig.open()
            let found = try readAll(journal)
            let statistics = journal.statistics()
            journal.stop()
            #expect(journal.durableEnd == 6)
            // Checksums do not cover padding. A flip there is harmless.
            if found.count == 6 {
                #expect(whole[place] == 0 && statistics.gapCount == 0, "byte \(place)")
                continue
            }
            #expect(found.map(\.position) == [0, 1, 4, 5], "byte \(place)")
            #expect(statistics.gaps.map(\.positions) == [2..<4])
            #expect(statistics.gaps.map(\.reason) == [.damaged])
            let copy = try #require(statistics.gaps.first?.copy)
            #expect(disk.contents(copy)?.count == ends[1] - ends[0])
            #expect(disk.contents(name)?[place] == whole[place] ^ 0x10)
        }
    }

    @Test func `damage that appears while the journal runs is reported once and skipped`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        for number in 0..<400 { try append(journal, [event(number, size: 500)]) }
        let name = rig.path(rig.segmentNames[1])
        // Damages a header, and a payload further on.
        try rig.overwrite(name, [1, 2, 3, 4, 5, 6, 7, 8])
        try rig.overwrite(name, [1, 2, 3, 4, 5, 6, 7, 8], at: 20_000)
        let first = try readAll(journal).map(\.position)
        let again = try readAll(journal).map(\.position)
        #expect(first == again)
        let statistics = journal.statistics()
        #expect(statistics.gapCount == 2)
        let lost = statistics.gaps.map(\.positions)
        #expect(lost.map(\.count) == [1, 1])
        #expect(first == (0..<400).map { UInt64($0) }.filter { position in !lost.contains { $0.contains(position) } })
    }

    @Test func `a missing segment is reported with its positions`() throws {
        let rig = try Rig()
        var journal = try rig.open()
        for number in 0..<400 { try append(journal, [event(number, size: 500)]) }
        journal.stop()
        let names = rig.segmentNames
        try rig.disk.remove(rig.path(names[1]))
        journal = try rig.open()
        defer { journal.stop() }
        let from = try #require(UInt64(names[1].prefix(20)))
        let to = try #require(UInt64(names[2].prefix(20)))
        #expect(journal.statistics().gaps.map(\.positions) == [from..<to])
        #expect(journal.statistics().gaps.map(\.reason) == [.segmentMissing])
        #expect(try readAll(journal).map(\.position) == (0..<400).filter { !(from..<to).contains($0) })
    }

    @Test func `a segment without a seal is read and sealed again`() throws {
        let rig = try Rig()
        var journal = try rig.open()
        for number in 0..<400 { try append(journal, [event(number, size: 500)]) }
        journal.stop()
        let name = rig.path(rig.segmentNames[1])
        try rig.overwrite(name, [UInt8](repeating: 0, count: 128), at: (64 << 10) - 128)
        let before = try rig.bytes(name)
        journal = try rig.open()
        #expect(try readAll(journal).count == 400)
        #expect(journal.statistics().gapCount == 0)
        journal.stop()
        #expect(try rig.bytes(name) != before)
    }

    @Test func `segments without a manifest are refused`() throws {
        let rig = try Rig()
        _ = try three(rig)
        try rig.disk.remove(rig.path("manifest"))
        #expect {
            try rig.open()
        } throws: {
            ($0 as? JournalError)?.code == .inconsistent && "\($0)".contains("restore the file `manifest`")
        }
        #expect(rig.segmentNames.count == 1)
    }

    @Test func `a damaged manifest is refused`() throws {
        let rig = try Rig()
        _ = try three(rig)
        try rig.overwrite(rig.path("manifest"), [0], at: 30)
        #expect(throws: JournalError.self) { try rig.open() }
    }

    @Test func `cursors without segments are refused`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try journal.declare(destinations: [("d", 0)])
        try append(journal, [event(0)])
        journal.advance("d", to: JournalCursor(position: 1))
        journal.stop()
        try rig.disk.remove(rig.path(rig.segmentNames[0]))
        #expect {
            try rig.open()
        } throws: {
            ($0 as? JournalError)?.code == .inconsistent
        }
    }

    @Test func `a second journal cannot open a locked directory`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        #expect {
            try rig.open(start: false, patience: .seconds(1))
        } throws: {
            ($0 as? JournalError)?.code == .locked
        }
        journal.stop()
        try rig.open().stop()
    }

    @Test func `a power cut loses nothing that was durable`() throws {
        var disk = MemoryDisk()
        var count = 0
        for _ in 0..<5 {
            let rig = Rig(disk)
            let journal = try rig.open()
            #expect(try readAll(journal).map(\.json) == (0..<count).map { event($0, size: 400) })
            for _ in 0..<20 {
                try append(journal, (count..<count + 5).map { event($0, size: 400) })
                count += 5
            }
            disk = disk.survivor()
            journal.stop()
        }
        #expect(Rig(disk).segmentNames.count > 2)
    }

    @Test(arguments: ["18446744073709551615.seg", "09223372036854775808.seg", "04611686018427387905.seg"])
    func `a segment name above the maximum position is refused`(name: String) throws {
        let rig = try Rig()
        _ = try three(rig)
        let file = try rig.disk.open(rig.path(name), .createNew)
        try file.write([UInt8](repeating: 0, count: 4096).span, at: 0)
        let error = #expect(throws: JournalError.self) { try rig.open() }
        #expect(error?.description.contains("which no journal reaches") == true, "\(String(describing: error))")
        try rig.disk.remove(rig.path(name))
        let journal = try rig.open()
        #expect(try readAll(journal).count == 6)
        journal.stop()
    }
}
