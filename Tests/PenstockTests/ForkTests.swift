import Foundation
import Testing

@Suite struct ForkTests {
    @Test func `a forked child has its own ids and reports its own process id`() throws {
        let (text, status) = try SDKProgram.run("fork")
        #expect(status == 0)
        let events = try text.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        try #require(events.count == 2, "\(text)")
        let process = events.map { ($0["context"] as? [String: Any])?["process"] as? [String: Any] }
        #expect(Set(process.compactMap { $0?["pid"] as? Int }).count == 2)
        #expect(Set(events.compactMap { $0["messageId"] as? String }).count == 2)
        #expect(Set(events.compactMap { $0["anonymousId"] as? String }).count == 1)
    }
}
