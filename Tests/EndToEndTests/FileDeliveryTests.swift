import Control
import Foundation
import Platform
import Testing

/// The file destination, as readers of its files see it.
@Suite struct FileDeliveryTests {
    @Test(arguments: ["ndjson", "ndjson.gz"])
    func `kill -9 loses and repeats nothing in files that are named by events`(suffix: String) throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [tenants, whole] } ]
                destinations:
                  tenants:
                    file: "out/{{ properties.tenant }}/%Y.\(suffix)"
                    open_files: 3
                    rotate: { size: 64KiB }
                    batch: { events: 70, wait: 0s }
                  whole: { file: whole.ndjson }
                """)
        for life in 0..<4 {
            try daemon.start()
            let client = try EventClient(daemon, acknowledgements: false)
            let text = (life * 3000..<life * 3000 + 3000).map { number in
                event(number, fields: #","properties":{"tenant":"t/\#(number % 7)"}"#) + "\n"
            }.joined()
            let sending = WorkerThread(name: "client") { try? client.send(text) }
            defer { sending.join() }
            // The kill comes within the stream: some events are delivered, and more arrive.
            try eventually("delivery has begun") { try daemon.status().destinations["tenants"]?.delivered ?? 0 > 300 }
            daemon.kill9()
        }
        try daemon.start()
        try daemon.settle()
        #expect(daemon.terminate() == 0)

        let whole = daemon.lines("whole.ndjson").compactMap(number)
        #expect(Set(whole).count == whole.count && whole.count > 1200)
        let files = try filesBelow("out", of: daemon)
        #expect(Set(files.map { $0.split(separator: "/")[1] }) == Set((0..<7).map { "t%2F\($0)" }))
        var found: [Int] = []
        for file in files {
            let lines = suffix.hasSuffix("gz") ? try daemon.gunzip(file) : daemon.lines(file)
            let numbers = lines.compactMap(number)
            #expect(numbers.allSatisfy { file.hasPrefix("out/t%2F\($0 % 7)/") }, "\(file) has only its tenant's events")
            #expect(numbers.count == lines.count)
            found += numbers
        }
        #expect(found.sorted() == whole.sorted(), "each event once, as in the whole file")
    }

    @Test func `a file that logrotate renames is replaced by a new one, and nothing is lost`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        #expect(try daemon.penstock("send", "--acks", input: events(0..<100)).status == 0)
        try daemon.settle()
        try FileManager.default.moveItem(atPath: daemon.path("archive.ndjson"), toPath: daemon.path("archive.ndjson.1"))
        #expect(try daemon.penstock("send", "--acks", input: events(100..<200)).status == 0)
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson.1").compactMap(number) == Array(0..<100))
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(100..<200))
        #expect(
            daemon.log.contains("archive.ndjson was renamed or removed by another process; continuing in a new file"),
            "\(daemon.log)")

        // With logrotate's `create`, another file is at the path already.
        try FileManager.default.moveItem(atPath: daemon.path("archive.ndjson"), toPath: daemon.path("archive.ndjson.2"))
        try "".write(toFile: daemon.path("archive.ndjson"), atomically: false, encoding: .utf8)
        #expect(try daemon.penstock("send", "--acks", input: events(200..<300)).status == 0)
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson.2").compactMap(number) == Array(100..<200))
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(200..<300))
        #expect(daemon.log.contains("is not the file written to until now"))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a file that is renamed while the daemon is down holds no event twice`() throws {
        // The cursor is saved so rarely that all events are delivered again.
        let daemon = try TestDaemon(configuration: Self.toFile, journal: "{ directory: journal, cursor_interval: 1h }")
        try daemon.start()
        #expect(try daemon.penstock("send", "--acks", input: events(0..<100)).status == 0)
        try eventually("all events are delivered") { daemon.lines("archive.ndjson").count == 100 }
        daemon.kill9()
        try FileManager.default.moveItem(atPath: daemon.path("archive.ndjson"), toPath: daemon.path("archive.ndjson.1"))
        try "somebody else's\n".write(toFile: daemon.path("archive.ndjson"), atomically: false, encoding: .utf8)
        try daemon.start()
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson.1").isEmpty, "the repeated events were cut off")
        #expect(daemon.lines("archive.ndjson").first == "somebody else's")
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0..<100))
        #expect(daemon.terminate() == 0)
    }

    @Test func `python reads back CSV as it was sent`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [rows] } ]
                destinations:
                  rows:
                    file: rows.csv
                    format: csv
                    columns:
                      id: $.messageId
                      who: "{{ userId }} of {{ properties.n }}"
                      text: $.properties.text
                      upper: { $case: { value: $.properties.text, operator: upper } }
                      "odd, name": $.properties.n
                """)
        try daemon.start()
        let texts = ["plain", "a,b", "say \"hi\"", "two\nlines", "", " padded ", "=1+1", "ä😀", "\r\n", "'"]
        let lines = try texts.enumerated().map { number, text in
            let json = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
            return event(number, fields: #","properties":{"text":\#(json),"n":\#(number).50}"#) + "\n"
        }
        #expect(try daemon.penstock("send", "--acks", input: lines.joined()).status == 0)
        #expect(
            try daemon.penstock("send", "--acks", input: event(99, fields: #","properties":{"text":null}"#) + "\n")
                .status == 0)
        try daemon.settle()
        let script =
            "import csv, json, sys; print(json.dumps(list(csv.DictReader(open(sys.argv[1], newline='', encoding='utf-8')))))"
        let read = try Program.run("python3", ["-c", script, daemon.path("rows.csv")])
        #expect(read.status == 0, "\(read.errors)")
        let rows = try JSONDecoder().decode([[String: String]].self, from: Data(read.output.utf8))
        #expect(rows.compactMap { $0["text"] } == texts + [""])
        #expect(rows.compactMap { $0["odd, name"] } == texts.indices.map { "\($0).50" } + [""])
        #expect(rows.first?["who"] == "u of 0.50")
        #expect(daemon.lines("rows.csv").first == #"id,who,text,upper,"odd, name""#)
        #expect(daemon.terminate() == 0)
    }

    @Test func `old files are removed and the live one stays`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [kept] } ]
                destinations:
                  kept: { file: kept/events.ndjson, rotate: { size: 4KiB }, keep: { files: 2 }, batch: { events: 10 } }
                """, journal: "{ directory: journal, cursor_interval: 50ms }")
        try FileManager.default.createDirectory(atPath: daemon.path("kept"), withIntermediateDirectories: true)
        try "mine\n".write(toFile: daemon.path("kept/notes.ndjson"), atomically: false, encoding: .utf8)
        try daemon.start()
        #expect(try daemon.penstock("send", "--acks", input: events(0..<1000)).status == 0)
        try daemon.settle()
        // Old files are removed from time to time while events are delivered.
        var next = 1000
        try eventually("old files are removed") {
            #expect(try daemon.penstock("send", "--acks", input: events(next..<next + 1)).status == 0)
            next += 1
            return try filesBelow("kept", of: daemon).count <= 5
        }
        let files = try filesBelow("kept", of: daemon)
        #expect(files.contains("kept/events.ndjson") && files.contains("kept/notes.ndjson"))
        #expect(daemon.log.contains("as keep requires"), "\(daemon.log)")
        #expect(daemon.terminate() == 0)
    }

    @Test func `check finds errors of file destinations`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [a, b, c, d, e] } ]
                destinations:
                  a: { file: "out/{{ userId }}.ndjson" }
                  b: { file: out/archive.ndjson }
                  c: { file: c.csv, format: csv }
                  d: { file: d.ndjson, rotate: { size: 1MiB }, keep: { size: 64KiB } }
                  e: { file: "e/{{ tenant }}.ndjson", mapping: { name: $.event } }
                """)
        let result = try Program.penstock(["check", "--config", daemon.configurationFile])
        #expect(result.status == 1)
        for words in [
            "CSV needs columns", "keep.size (64KiB) is below one file of rotate.size (1MiB)",
            "the path has {{ tenant }}, but the mapping does not write \"tenant\"",
        ] { #expect(result.errors.contains(words), "\(result.errors)") }
        try daemon.write(
            configuration: """
                routes: [ { to: [a, b] } ]
                destinations:
                  a: { file: "out/{{ userId }}.ndjson" }
                  b: { file: out/archive.ndjson }
                """)
        let meeting = try Program.penstock(["check", "--config", daemon.configurationFile])
        #expect(meeting.status == 1)
        #expect(meeting.errors.contains("this path can be the file of destination \"a\""), "\(meeting.errors)")
    }

    private static let toFile = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    /// The paths of the files in a subdirectory of the daemon's directory, relative to the latter.
    private func filesBelow(_ name: String, of daemon: TestDaemon) throws -> [String] {
        let all = FileManager.default.enumerator(atPath: daemon.path(name))?.compactMap { $0 as? String } ?? []
        return all.map { "\(name)/\($0)" }.filter { path in
            let type = try? FileManager.default.attributesOfItem(atPath: daemon.path(path))[.type] as? FileAttributeType
            return type == .typeRegular
        }.sorted()
    }
}
