import Control
import Foundation
import TestSupport
import Testing

/// `journal.memory` bounds what a load adds to the daemon's memory.
@Suite struct JournalMemoryTests {
    /// Bytes of a line of /proc/PID/status: VmRSS now, VmHWM at most so far.
    private func memory(_ name: String, of daemon: TestDaemon) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(daemon.processIdentifier)/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + ":") })
        return try #require(line.split(separator: " ").compactMap { Int($0) }.first) << 10
    }

    @Test(arguments: [4, 64])
    func `a load adds at most journal.memory and 24 MiB`(mebibytes: Int) throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive] } ]
                destinations: { archive: { file: archive.ndjson } }
                """, journal: "{ directory: journal, memory: \(mebibytes)MiB }")
        try daemon.start()
        let idle = try memory("VmRSS", of: daemon)
        // 70 MB, more than the larger memory. One connection after the other would not fill it.
        let padding = String(repeating: "x", count: 1000)
        let lines = (0..<500).map {
            #"{"type":"track","event":"E","userId":"u","properties":{"n":\#($0),"x":"\#(padding)"}}"#
        }
        let block = lines.joined(separator: "\n") + "\n"
        let clients = try (0..<2).map { _ in try EventClient(daemon, acknowledgements: false) }
        for _ in 0..<64 { for client in clients { try client.send(block) } }
        try eventually("all events are delivered") {
            try daemon.status().destinations["archive"]?.delivered == 64_000
        }
        #expect(try memory("VmHWM", of: daemon) - idle <= (mebibytes + 24) << 20)
        #expect(daemon.terminate() == 0)
    }
}
