import Platform
import Testing

@testable import Ingest

@Suite struct DuplicateTableTests {
    private let key = MessageIDHash.Key(first: 1, second: 2)

    private func hash(_ number: Int) -> MessageIDHash { MessageIDHash(Array("id-\(number)".utf8).span, key) }
    private func time(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    /// The vectors of SipHash's authors for 128 bits: the key is 00 01 … 0f, the text 00 01 ….
    @Test(arguments: [
        (0, "a3817f04ba25a8e66df67214c7550293"), (1, "da87c1d86b99af44347659119b22fc45"),
        (8, "3b62a9ba6258f5610f83e264f31497b4"), (15, "5493e99933b0a8117e08ec0f97cfc3d9"),
    ])
    func `the hash is SipHash-2-4 with 128 bits`(length: Int, expected: String) {
        let key = MessageIDHash.Key(first: 0x0706_0504_0302_0100, second: 0x0F0E_0D0C_0B0A_0908)
        let text = (0..<length).map { UInt8($0) }
        let hash = MessageIDHash(text.span, key)
        let hex = [hash.low, hash.high].flatMap { half in
            (0..<8).map { byte -> String in
                let text = String(half >> UInt64(8 * byte) & 0xFF, radix: 16)
                return text.count == 1 ? "0" + text : text
            }
        }.joined()
        #expect(hex == expected)
    }

    @Test func `an id is known until the window is over`() {
        var table = DuplicateTable(window: .seconds(10), memory: 1 << 20, at: time(100))
        table.insert(hash(1), end: 7, time: time(100))
        #expect(table.end(of: hash(2), at: time(100)) == nil)
        #expect(table.end(of: hash(1), at: Instant(nanoseconds: 109_999_000_000)) == 7)
        #expect(table.end(of: hash(1), at: time(110)) == nil)
        #expect(table.count == 0)
        #expect(table.forgottenEarly == 0)
    }

    @Test func `a full table forgets the oldest ids first`() {
        var table = DuplicateTable(window: .seconds(10), memory: 100 * DuplicateTable.bytesPerID, at: time(0))
        for number in 0..<250 { table.insert(hash(number), end: UInt64(number + 1), time: time(0)) }
        #expect(table.count == 100)
        #expect(table.capacity == 100)
        #expect(table.forgottenEarly == 150)
        for number in 0..<250 {
            #expect(table.end(of: hash(number), at: time(1)) == (number < 150 ? nil : UInt64(number + 1)))
        }
    }

    @Test func `ids that were added for an append that failed are taken back`() {
        var table = DuplicateTable(window: .seconds(10), memory: 1 << 20, at: time(0))
        for number in 0..<1000 { table.insert(hash(number), end: 1, time: time(0)) }
        for number in 1000..<1500 { table.insert(hash(number), end: 0, time: time(0)) }
        table.removeNewest(500)
        #expect((0..<1500).allSatisfy { (table.end(of: hash($0), at: time(0)) != nil) == ($0 < 1000) })
        table.insert(hash(1000), end: 0, time: time(0))
        table.setEnd(ofNewest: 1, to: 99)
        #expect(table.end(of: hash(1000), at: time(0)) == 99)
        #expect(table.end(of: hash(0), at: time(0)) == 1)
    }

    /// Ends are stored in 32 bits, relative to the latest.
    @Test func `an end beyond 32 bits is exact`() {
        var table = DuplicateTable(window: .seconds(10), memory: 1 << 20, at: time(0))
        let ends: [UInt64] = [0xFFFF_FFFE, 0xFFFF_FFFF, 0x1_0000_0000, 0x1_0000_0001, 0x1_8000_0000]
        for (number, end) in ends.enumerated() { table.insert(hash(number), end: end, time: time(0)) }
        for (number, end) in ends.enumerated() { #expect(table.end(of: hash(number), at: time(0)) == end) }
    }

    /// Times are stored in 32 bits, in milliseconds: 49 days.
    @Test func `years of uptime do not end the window early or late`() {
        let day: Int64 = 86_400
        var table = DuplicateTable(window: .seconds(30 * day), memory: 1 << 20, at: time(0))
        for number in 0..<100 {
            let today = Int64(number) * 20 * day
            #expect(number == 0 || table.end(of: hash(number - 1), at: time(today)) != nil)
            #expect(number < 2 || table.end(of: hash(number - 2), at: time(today)) == nil)
            table.insert(hash(number), end: UInt64(number), time: time(today))
        }
        #expect(table.end(of: hash(99), at: Instant(nanoseconds: .max)) == nil)
        table.insert(hash(1), end: .max, time: Instant(nanoseconds: .max))
        #expect(table.end(of: hash(1), at: Instant(nanoseconds: .max)) == .max)
        #expect(table.end(of: hash(1), at: Instant(nanoseconds: .min)) == .max)
    }

    @Test func `after any sequence of changes it has the same ids as a simple model`() {
        var generator = SystemRandomNumberGenerator()
        var table = DuplicateTable(window: .seconds(50), memory: 64 * DuplicateTable.bytesPerID, at: time(0))
        var model: [(number: Int, end: UInt64, time: Int64)] = []
        var (now, end): (Int64, UInt64) = (0, 0)
        for _ in 0..<20_000 {
            now += Int64.random(in: 0...2, using: &generator)
            end += 1
            let number = Int.random(in: 0..<200, using: &generator)
            model.removeAll { $0.time + 50 <= now }
            let known = model.first { $0.number == number }
            #expect(table.end(of: hash(number), at: time(now)) == known?.end)
            guard known == nil else { continue }
            if model.count == 64 { model.removeFirst() }
            model.append((number, end, now))
            table.insert(hash(number), end: end, time: time(now))
            if Bool.random(using: &generator) {
                let newest = Int.random(in: 0...min(3, model.count), using: &generator)
                model.removeLast(newest)
                table.removeNewest(newest)
            }
            #expect(table.count == model.count)
        }
    }

    @Test func `another table's newer ids are added behind`() {
        var table = DuplicateTable(window: .seconds(100), memory: 1 << 20, at: time(50))
        table.insert(hash(1), end: 1, time: time(10))
        table.insert(hash(2), end: 2, time: time(20))
        var newer = DuplicateTable(window: .seconds(100), memory: 1 << 20, at: time(40))
        newer.insert(hash(2), end: 3, time: time(40))
        newer.insert(hash(3), end: 4, time: time(45))
        table.append(newer, at: time(50))
        #expect(table.count == 3)
        #expect(table.end(of: hash(2), at: time(119)) == 2)
        #expect(table.end(of: hash(2), at: time(120)) == nil)
        #expect(table.end(of: hash(3), at: time(144)) == 4)
        #expect(table.end(of: hash(3), at: time(145)) == nil)
    }
}
