import Control
import Foundation
import TestSupport
import Testing

@Suite struct ManyDestinationsTests {
    @Test func `three hundred HTTP destinations share a few threads`() throws {
        let receiver = try HTTPReceiver()
        let names = (0..<300).map { "d\($0)" }
        let daemon = try TestDaemon(
            configuration: """
                routing: { threads: 4 }
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
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.processIdentifier)/task").map
        {
            try String(contentsOfFile: "/proc/\(daemon.processIdentifier)/task/\($0)/comm", encoding: .utf8)
        }
        #expect(threads.filter { $0 == "http\n" }.count == 1)
        #expect(threads.filter { $0.hasPrefix("routing ") }.count == 4)
        // The other threads do not depend on the number of destinations: journal, event loops, main and others.
        #expect(threads.count < 24, "\(threads)")
        #expect(daemon.terminate() == 0)
    }

    @Test func `an idle destination gets its event while two hundred catch up`() throws {
        let receiver = try HTTPReceiver()
        let names = (0..<200).map { "d\($0)" }
        // The events that the other destinations have to catch up with.
        let backlog = 3000
        func configuration(_ others: Bool) -> String {
            """
            routing: { threads: 2 }
            routes:
              - { where: event = "Urgent", to: [idle] }
              - { where: event != "Urgent", to: [\(others ? names.joined(separator: ", ") : "void")] }
            destinations:
              idle: { http: "\(receiver.url)/idle", format: ndjson, batch: { wait: 0s } }
              void: { file: void.ndjson }

            """
                + (others
                    ? names.map {
                        "  \($0): { http: \"\(receiver.url)/\($0)\", format: ndjson, start: earliest, in_flight: 1, batch: { events: 20, wait: 0s } }"
                    }.joined(separator: "\n") : "")
        }
        let daemon = try TestDaemon(configuration: configuration(false))
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<backlog))
        #expect(try client.acknowledgement(of: backlog).lines == backlog)
        try daemon.settle()
        try daemon.write(configuration: configuration(true))
        #expect(try daemon.reload().applied)
        func isCatchingUp() throws -> Int {
            try daemon.status().destinations.count { names.contains($0.key) && $0.value.lagEvents > 0 }
        }
        try eventually("the others have started") {
            try daemon.status().destinations.contains { names.contains($0.key) && $0.value.delivered > 0 }
        }
        try client.send(event(backlog, name: "Urgent") + "\n")
        try eventually("the idle one has its event") { receiver.server.requests.contains { $0.line.contains("/idle") } }
        #expect(try isCatchingUp() > 100, "the others still catch up")
        // The idle destination is also served next time.
        let before = receiver.server.requests.count { $0.line.contains("/idle") }
        try client.send(event(backlog + 1, name: "Urgent") + "\n")
        try eventually("it has the next one") { receiver.server.requests.count { $0.line.contains("/idle") } > before }
        #expect(try isCatchingUp() > 100)
        daemon.kill9()
    }
}
