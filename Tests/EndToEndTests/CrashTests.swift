import Control
import Foundation
import Platform
import Testing

/// kill -9 at any moment.
@Suite struct CrashTests {
    @Test func `two thousand acknowledged events are in every destination after kill -9`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive, compressed, collector, rows] } ]
                destinations:
                  archive: { file: archive.ndjson }
                  compressed: { file: archive.ndjson.zst }
                  collector: { http: "\(receiver.url)", format: ndjson }
                  rows: { plugin: sqlite, settings: { path: DIRECTORY/rows.db } }
                """)
        try daemon.start()
        let sent = try daemon.penstock("send", "--acks", input: events(0..<2000))
        daemon.kill9()
        #expect(sent.status == 0, "\(sent.errors)")
        try daemon.start()
        try daemon.settle()

        let all = Array(0..<2000)
        #expect(daemon.lines("archive.ndjson").compactMap(number) == all, "each event exactly once")
        #expect(try daemon.unzstd("archive.ndjson.zst").compactMap(number) == all, "each event exactly once")
        let rows = try daemon.sqlite("rows.db", "SELECT message_id FROM events ORDER BY position")
        #expect(rows.compactMap { Int($0.dropFirst(2)) } == all, "each event exactly once")
        #expect(Set(receiver.events.compactMap(number)) == Set(all))
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: ["archive.ndjson", "archive.ndjson.gz"])
    func `a rotation under load and kill -9 loses and repeats nothing`(name: String) throws {
        let limit = 16 << 10
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [rotated, whole] } ]
                destinations:
                  rotated: { file: rotated/\(name), rotate: { size: 16KiB }, batch: { events: 50, wait: 0s } }
                  whole: { file: whole.ndjson }
                """)
        for life in 0..<4 {
            try daemon.start()
            let client = try EventClient(daemon, acknowledgements: false)
            // Even compressed, the events fill several files.
            let text = (life * 4000..<life * 4000 + 4000).map { number in
                var random = SystemRandomNumberGenerator()
                let noise = (0..<12).map { _ in String(random.next(), radix: 36) }.joined()
                return event(number, fields: #","context":{"noise":"\#(noise)"}"#) + "\n"
            }.joined()
            let sending = WorkerThread(name: "client") { try? client.send(text) }
            defer { sending.join() }
            // The kill comes within the stream: some events are rotated, and more arrive.
            let before = rotatedFiles(daemon).count
            try eventually("the file has rotated") { rotatedFiles(daemon).count > before + 3 }
            daemon.kill9()
        }
        try daemon.start()
        try daemon.settle()
        #expect(daemon.terminate() == 0)

        let files = rotatedFiles(daemon)
        #expect(files.count > 12)
        var rotated: [Int] = []
        for file in files {
            rotated +=
                name.hasSuffix(".gz")
                ? try daemon.gunzip(file).compactMap(number) : daemon.lines(file).compactMap(number)
            if !name.hasSuffix(".gz") {
                let size = try FileManager.default.attributesOfItem(atPath: daemon.path(file))[.size] as? Int ?? .max
                #expect(size <= limit)
            }
        }
        #expect(
            rotated.sorted() == daemon.lines("whole.ndjson").compactMap(number).sorted(),
            "each once, as in the whole file")
    }

    private func rotatedFiles(_ daemon: TestDaemon) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: daemon.path("rotated"))) ?? []).map { "rotated/" + $0 }
    }
}
