import Glibc
import Journal
import Platform
import Testing

@Suite struct DeadLetterTests {
    private func letter(_ number: Int, size: Int = 50) -> StoredDeadLetter {
        StoredDeadLetter(
            position: UInt64(number), time: 1_700_000_000_000_000_000, attempts: 3, messageID: "m\(number)",
            reason: "400 Bad Request", answer: "{\"error\":\"ünknown\"}", event: Array(event(number, size: size).utf8))
    }

    private func all(_ store: DeadLetterStore) throws -> [StoredDeadLetter] {
        var letters: [StoredDeadLetter] = []
        try store.forEach { _, letter in
            letters.append(letter)
            return true
        }
        return letters
    }

    @Test func `dead letters are read in order, also after a restart`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        let store = try journal.deadLetters(of: "web/../hook", limit: 1 << 20)
        try store.append([letter(1), letter(2)])
        try store.append([letter(3, size: 4000)])
        #expect(store.count == 3)
        #expect(try all(store) == [letter(1), letter(2), letter(3, size: 4000)])
        let again = try journal.deadLetters(of: "web/../hook", limit: 1 << 20)
        #expect(again.count == 3 && again.bytes == store.bytes)
        try again.append([letter(4)])
        #expect(try all(again).map(\.position) == [1, 2, 3, 4])
        #expect(try rig.disk.list(rig.path("dead-letters")) == ["web%2F..%2Fhook"])
    }

    @Test func `an empty store takes letters that exceed its limit together, and then no more`() throws {
        let journal = try Rig().open()
        defer { journal.stop() }
        let store = try journal.deadLetters(of: "d", limit: 20_000)
        let letters = (0..<10).map { letter($0, size: 4000) }
        try store.append(letters)
        #expect(try all(store) == letters)
        #expect(throws: JournalError.self) { try store.append([letter(10)]) }
        try store.remove(Array(0..<10))
        try store.append(letters)
        #expect(store.count == 10)
    }

    @Test func `the dead letters of a destination stay below their limit in bytes`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        defer { journal.stop() }
        let store = try journal.deadLetters(of: "d", limit: 20_000)
        var taken = 0
        var code: JournalError.Code?
        while code == nil, taken < 1000 {
            do {
                try store.append([letter(taken)])
                taken += 1
            } catch {
                code = error.code
            }
        }
        #expect(code == .full)
        #expect(taken > 1 && store.bytes <= 20_000)
        #expect(try all(store).count == taken)
    }

    @Test func `whole dead letters before a torn tail are read, and new ones can be appended`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open()
        defer { journal.stop() }
        let store = try journal.deadLetters(of: "d", limit: 1 << 20)
        try store.append([letter(1)])
        let first = store.bytes
        try store.append([letter(2)])
        let path = "/journal/dead-letters/d/00000000000000000000.seg"
        let whole = try #require(disk.contents(path))
        for cut in stride(from: first, to: whole.count, by: 7) {
            disk.change(path) { $0 = Array(whole.prefix(cut)) }
            let again = try journal.deadLetters(of: "d", limit: 1 << 20)
            #expect(again.count == 1)
            #expect(try all(again) == [letter(1)])
        }
        let again = try journal.deadLetters(of: "d", limit: 1 << 20)
        try again.append([letter(3)])
        #expect(try all(again).map(\.position) == [1, 3])
        #expect(try all(journal.deadLetters(of: "d", limit: 1 << 20)).map(\.position) == [1, 3])
    }

    @Test func `dead letters go to a new file after a failed sync`() throws {
        let disk = MemoryDisk()
        let rig = Rig(disk)
        let journal = try rig.open()
        let store = try journal.deadLetters(of: "d", limit: 1 << 20)
        disk.fail("fdatasync", "dead-letters", code: EIO)
        #expect(throws: JournalError.self) { try store.append([letter(1)]) }
        try store.append([letter(1)])
        let survivor = Rig(disk.survivor())
        journal.stop()
        let again = try survivor.open()
        #expect(try all(again.deadLetters(of: "d", limit: 1 << 20)) == [letter(1)])
        again.stop()
    }

    /// A file is deleted when all its letters are removed. Its numbers are between those of its neighbors.
    @Test func `removing the letters of one file keeps the letters of the others`() throws {
        let disk = MemoryDisk()
        let store = try Rig(disk).open(start: false).deadLetters(of: "d", limit: 1 << 20)
        try store.append([letter(0)])
        // A failed sync begins a new file.
        disk.fail("fdatasync", "/dead-letters/", code: EIO)
        #expect(throws: JournalError.self) { try store.append([letter(1)]) }
        try store.append([letter(1)])
        try store.append([letter(2)])
        var numbers: [UInt64] = []
        try store.forEach { number, letter in
            if letter.position > 0 { numbers.append(number) }
            return true
        }
        try store.remove(numbers)
        #expect(try all(store).map(\.position) == [0])
        #expect(store.count == 1)
        let again = try Rig(disk).open(start: false).deadLetters(of: "d", limit: 1 << 20)
        #expect(try all(again).map(\.position) == [0])
        #expect(again.count == 1)
    }
}
