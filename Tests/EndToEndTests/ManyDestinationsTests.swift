import Control
import Foundation
import TestSupport
import Testing

@Suite struct ManyDestinationsTests {
    @Test func threeHundredHTTPDestinationsShareOneThread() throws {
        let receiver = try HTTPReceiver()
        let names = (0..<300).map { "d\($0)" }
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [\(names.joined(separator: ", "))] } ]
                destinations:
                \(names.map { "  \($0): { http: \"\(receiver.url)/\($0)\", format: ndjson, in_flight: 1, batch: { wait: 0s } }" }.joined(separator: "\n"))
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<20))
        #expect(try client.acknowledgement(of: 20).lines == 20)
        try daemon.settle()
        var seen: [String: [Int]] = [:]
        for request in receiver.server.requests {
            let path = String(request.line.split(separator: " ")[1].split(separator: "/").last ?? "")
            seen[path, default: []] += request.text.split(separator: "\n").compactMap { number(in: $0) }
        }
        #expect(seen.count == 300)
        #expect(seen.values.allSatisfy { $0 == Array(0..<20) })
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.processIdentifier)/task").map {
            try String(contentsOfFile: "/proc/\(daemon.processIdentifier)/task/\($0)/comm", encoding: .utf8)
        }
        #expect(threads.filter { $0 == "http\n" }.count == 1)
        // The rest is the same with one destination: journal, event loops, main and the like.
        #expect(threads.count < 20, "\(threads)")
        #expect(daemon.terminate() == 0)
    }
}
