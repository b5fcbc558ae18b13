import Control
import Foundation
import Platform
import Synchronization
import Testing

/// Requests that wait for the disk, and operations that must not wait for them.
@Suite struct DiskRequestTests {
    /// A request that waits while the test continues: longer than a command would, because this machine may be busy.
    private final class Waiting: Sendable {
        private let result = Mutex<ControlAnswer?>(nil)
        private let thread = Mutex<WorkerThread?>(nil)

        init(_ request: @escaping @Sendable (_ timeout: Duration) throws -> ControlAnswer) {
            let thread = WorkerThread(name: "request") { [self] in
                let answer = try? request(.seconds(1800))
                result.withLock { $0 = answer }
            }
            self.thread.withLock { $0 = thread }
        }

        var hasEnded: Bool { result.withLock { $0 != nil } }

        func end() throws -> ControlAnswer {
            thread.withLock { $0.take() }?.join()
            return try #require(result.withLock { $0 })
        }
    }

    @Test func `a search that waits for the disk delays neither status nor reload nor the stop`() throws {
        let configuration = """
            routes: [ { to: [archive] } ]
            destinations: { archive: { file: archive.ndjson } }
            """
        let daemon = try TestDaemon(configuration: configuration)
        try daemon.start()
        // A reader of this file waits until another process writes to it, which never happens.
        let fifo = daemon.path("journal/dead-letters/archive/00000000000000000099.seg")
        let isMade = unsafe mkfifo(fifo, 0o600) == 0
        #expect(isMade)
        let client = ControlClient(socket: daemon.control)
        let search = Waiting { try client.get("/dead-letters", query: ["destination": "archive"], timeout: $0) }
        try eventually("a thread opens the file") { try isWaiting(daemon, for: "disk-requests") }

        let status = try daemon.penstock("status")
        #expect(status.status == 0, "\(status.output)")
        try daemon.write(configuration: configuration.replacingOccurrences(of: "archive.ndjson", with: "second.ndjson"))
        #expect(try daemon.reload().applied)
        let sender = try EventClient(daemon)
        try sender.send(events(0..<2))
        #expect(try sender.acknowledgement(of: 2).lines == 2)
        try daemon.settle()
        #expect(daemon.lines("second.ndjson").count == 2)

        // A second request waits in the queue, together with the daemon's regular work.
        let selection = Array(try JSONEncoder().encode(DeadLetterSelection(destination: "archive")))
        let waiting = Waiting { try client.post("/dead-letters/drop", body: selection, timeout: $0) }
        try eventually("both requests have arrived") { try connections(daemon) >= 2 }
        #expect(!search.hasEnded)
        // The thread that waits delays the end, while there are no destinations any more.
        kill(daemon.processIdentifier, SIGTERM)
        var answer = ""
        try eventually("the daemon ends") {
            answer = try daemon.penstock("dead-letters", "list", "archive").errors
            #expect(!answer.contains("there is no destination"))
            return answer.contains("is not running")
        }
        #expect(daemon.terminate() == 0)
        for request in [search, waiting] {
            let answer = try request.end()
            #expect(answer.status == 503)
            #expect(answer.error.contains("the daemon is stopping and has interrupted this request"), "\(answer.error)")
        }
    }

    /// The number of the daemon's open connections at the control socket, without the listening one.
    private func connections(_ daemon: TestDaemon) throws -> Int {
        // Foundation reads at most what the kernel returns at once from this file, about a page.
        try Program.run("cat", ["/proc/net/unix"]).output.split(separator: "\n").count { line in
            // The state 03 is SS_CONNECTED.
            line.hasSuffix(" " + daemon.control) && line.contains(" 03 ")
        }
    }

    /// Whether the daemon's thread of this name sleeps in open(2) of a FIFO.
    private func isWaiting(_ daemon: TestDaemon, for name: String) throws -> Bool {
        let tasks = "/proc/\(daemon.processIdentifier)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).contains { task in
            guard let comm = try? String(contentsOfFile: "\(tasks)/\(task)/comm", encoding: .utf8), comm == name + "\n"
            else { return false }
            // `openat` is 257 on x86_64 and 56 on aarch64 (syscall(2)).
            let call = (try? String(contentsOfFile: "\(tasks)/\(task)/syscall", encoding: .utf8)) ?? ""
            return call.hasPrefix("257 ") || call.hasPrefix("56 ")
        }
    }
}
