import Platform
import Testing

@testable import Journal

@Suite struct RemovedLettersTests {
    @Test func `a list of removed letters can hold every number`() throws {
        var removed = RemovedLetters()
        removed.insert(.max - 1)
        for range in ["0 18446744073709551615", "1 9223372036854775809"] {
            let text = "penstock-removed 1\n\(range)\n"
            let sum = String(Checksum.of(Array(text.utf8).span.raw), radix: 16)
            let line = "crc32c " + String(repeating: "0", count: 8 - sum.count) + sum + "\n"
            let all = try #require(RemovedLetters(Array((text + line).utf8)))
            #expect(all.count(in: 0..<UInt64.max) >= UInt64(Int64.max))
            #expect(all.contains(all: 1..<(1 << 62)) && all.contains(1))
            #expect(!all.contains(all: 0..<UInt64.max) || range.hasPrefix("0"))
        }
        #expect(removed.contains(.max - 1))
    }
}
