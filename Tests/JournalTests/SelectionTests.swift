import Events
import Glibc
import Journal
import Platform
import Testing

/// A reader with a selection leaves events out, and counts each of them once.
@Suite struct SelectionTests {
    /// Takes the events with one of the numbers.
    private final class Numbers: EventSelection {
        let reason = "not chosen"
        private let isTaken: @Sendable (Int) -> Bool
        init(_ isTaken: @escaping @Sendable (Int) -> Bool) { self.isTaken = isTaken }

        func mayTake(_ index: EventIndex, _ json: Span<UInt8>) -> Bool {
            #expect(index.kind == .track && index.event == Slice(offset: 25, length: 1))
            var number = 0
            for i in 46..<json.count {
                let digit = Int(json[i]) - 48
                guard (0...9).contains(digit) else { break }
                number = number * 10 + digit
            }
            return isTaken(number)
        }
    }

    /// What a reader returns: for each event its position, and how many were left out before it.
    private struct Found {
        var events: [(position: UInt64, leftOut: Int)] = []
        var leftOutAtEnd = 0
        var reads = 0
        var next: UInt64 = 0

        mutating func add(_ batch: EventBatch) {
            reads += 1
            next = batch.next
            for event in batch.events {
                events.append((event.position, leftOutAtEnd + Int(event.leftOutBefore)))
                leftOutAtEnd = 0
                #expect(batch.text(of: event) == Array(JournalTests.event(Int(event.position)).utf8))
            }
            leftOutAtEnd += Int(batch.leftOutAtEnd)
        }
    }

    private func read(
        _ journal: Journal, from position: UInt64 = 0, maximumBytes: Int = 4000, borrows: Bool = false,
        _ isTaken: @escaping @Sendable (Int) -> Bool
    ) throws -> Found {
        let reader = journal.makeReader(from: position)
        let selection = Numbers(isTaken)
        var (batch, found) = (EventBatch(), Found())
        while try reader.read(into: &batch, maximumBytes: maximumBytes, borrows: borrows, selecting: selection) {
            #expect(!batch.isEmpty)
            found.add(batch)
        }
        return found
    }

    @Test(arguments: [true, false])
    func `events that are left out are counted where they lie`(inMemory: Bool) throws {
        let rig = Rig(MemoryDisk())
        var journal = try rig.open()
        for start in stride(from: 0, to: 300, by: 50) {
            try append(journal, (start..<start + 50).map { event($0) })
        }
        if !inMemory {
            // After a start, nothing is in memory.
            journal.stop()
            journal = try rig.open()
        }
        for bytes in [1, 1000, 4000, 1 << 20] {
            let some = try read(journal, maximumBytes: bytes, borrows: inMemory) { $0 % 7 == 3 }
            #expect(some.events.map(\.position) == stride(from: 3, to: 300, by: 7).map(UInt64.init))
            let gaps = [3] + [Int](repeating: 6, count: max(0, some.events.count - 1))
            #expect(some.events.map(\.leftOut) == gaps)
            let last = Int(some.events.last?.position ?? 0)
            #expect(some.leftOutAtEnd == 299 - last && some.next == 300)
            let none = try read(journal, maximumBytes: bytes, borrows: inMemory) { _ in false }
            #expect(none.events.isEmpty && none.leftOutAtEnd == 300 && none.next == 300)
            // Each read is bounded, although it returns no event.
            if bytes == 1 { #expect(none.reads >= 6) }
            let all = try read(journal, maximumBytes: bytes, borrows: inMemory) { _ in true }
            #expect(all.events.count == 300 && all.events.allSatisfy { $0.leftOut == 0 } && all.leftOutAtEnd == 0)
            // Not those before the position.
            let late = try read(journal, from: 60, maximumBytes: bytes, borrows: inMemory) { $0 == 100 }
            #expect(late.events.map(\.leftOut) == [40] && late.leftOutAtEnd == 199)
        }
        journal.stop()
    }

    @Test func `a read that fails halfway counts nothing twice`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var journal = try rig.open()
        for start in stride(from: 0, to: 2000, by: 20) {
            try append(journal, (start..<start + 20).map { event($0) })
        }
        journal.stop()
        journal = try rig.open()
        let reader = journal.makeReader(from: 0)
        let selection = Numbers { $0 % 100 == 99 }
        var (batch, found, failures) = (EventBatch(), Found(), 0)
        while found.next < 2000 {
            // Every second read fails at its first or its second look at the disk.
            if found.reads % 2 == 1, failures <= found.reads {
                disk.fail("pread", ".seg", code: EIO)
                failures += 1
            }
            do {
                guard try reader.read(into: &batch, maximumBytes: 3000, selecting: selection) else { break }
                found.add(batch)
            } catch {
                #expect(batch.isEmpty)
            }
        }
        disk.heal()
        #expect(failures > 10)
        #expect(found.events.map(\.position) == stride(from: 99, to: 2000, by: 100).map(UInt64.init))
        #expect(found.events.allSatisfy { $0.leftOut == 99 } && found.leftOutAtEnd == 0)
        journal.stop()
    }

    @Test func `damage is passed over, and is not counted as left out`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        var journal = try rig.open()
        for start in stride(from: 0, to: 60, by: 20) {
            try append(journal, (start..<start + 20).map { event($0) })
        }
        journal.stop()
        let path = rig.path(rig.segmentNames[0])
        let text = Array(event(30).utf8)
        let bytes = try rig.bytes(path)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: text) })
        try rig.overwrite(path, [0], at: place + 60)
        journal = try rig.open()
        let found = try read(journal, maximumBytes: 1 << 20) { $0 == 59 }
        #expect(found.events.map(\.position) == [59])
        #expect(found.events.map(\.leftOut) == [39] && found.next == 60)
        journal.stop()
    }
}
