import Events
import Foundation
import Testing

@Suite struct MessageIDTests {
    let journal: [UInt8] = (0..<16).map { UInt8($0) * 17 }

    @Test(arguments: [0, 1, 0xFFFF_FFFF, UInt64.max])
    func `a derived ID is a UUID of version 8`(_ position: UInt64) throws {
        let text = MessageID.derived(journal: journal, position: position)
        #expect(text.utf8.count == MessageID.length)
        let uuid = try #require(UUID(uuidString: text)).uuid
        #expect(uuid.6 >> 4 == 8)
        #expect(uuid.8 >> 6 == 0b10)
        #expect(text == text.lowercased())
    }

    @Test func `the same journal and position give the same ID, and others give different ones`() {
        let other = journal.dropLast() + [0]
        var seen: Set<String> = []
        for journal in [journal, Array(other)] {
            for position in (0..<1000) as Range<UInt64> {
                let id = MessageID.derived(journal: journal, position: position)
                #expect(id == MessageID.derived(journal: journal, position: position))
                seen.insert(id)
            }
        }
        #expect(seen.count == 2000)
    }

    @Test func `the layout never changes, because retries span upgrades`() {
        #expect(
            MessageID.derived(journal: journal, position: 0x0123_4567_89AB_CDEF)
                == "88888888-8888-8888-8123-456789abcdef")
    }
}
