import Foundation
import Testing

@testable import Platform

@Suite struct SecretMemoryTests {
    @Test func `a secret returns its text and equals only a secret with the same text`() {
        for text in ["", "s", "s3cret", String(repeating: "Zähne ⚙", count: 2000)] {
            #expect(SecretMemory(text).text == text)
            #expect(SecretMemory(text) == SecretMemory(text))
            #expect(SecretMemory(text) != SecretMemory(text + "x"))
        }
    }

    @Test func `the pages of a secret are excluded from core dumps`() throws {
        let secret = SecretMemory(String(repeating: "marked", count: 3000))
        let address = try #require(secret.address)
        let file = try FileDescriptor.open("/proc/self/smaps", O_RDONLY)
        var smaps: [UInt8] = []
        while case let bytes = try file.read(upTo: 64 << 10), !bytes.isEmpty { smaps += bytes }
        let mappings = String(decoding: smaps, as: UTF8.self).components(separatedBy: "VmFlags: ")
        // The flags of a mapping follow its lines. The first line of the next mapping comes after the flags.
        let index = try #require(
            mappings.dropLast().firstIndex { mapping in
                mapping.split(separator: "\n").contains { line in
                    let bounds = line.prefix { $0 != " " }.split(separator: "-").map { UInt($0, radix: 16) ?? 0 }
                    return bounds.count == 2 && bounds[0] <= address && address < bounds[1]
                }
            })
        #expect(mappings[index + 1].prefix { $0 != "\n" }.split(separator: " ").contains("dd"))
        withExtendedLifetime(secret) {}
    }
}
