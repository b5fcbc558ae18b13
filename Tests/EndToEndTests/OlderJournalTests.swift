import Control
import Foundation
import Testing

/// A journal that lacks events which its destinations have stored: a copy that was put back, beside newer output.
@Suite struct OlderJournalTests {
    private static func configuration(table: String = "events", batch: Int = 500) -> String {
        func destination(_ path: String) -> String {
            """
            { plugin: sqlite, settings: { path: DIRECTORY/\(path), table: \(table) }, \
            batch: { events: \(batch), wait: 0s }, retry: { initial: 10ms, max: 50ms } }
            """
        }
        return """
            routes: [ { to: [rows, more, archive] } ]
            destinations:
              rows: \(destination("rows.db"))
              more: \(destination("more/more.db"))
              archive: { file: archive.ndjson }
            """
    }

    private let daemon: TestDaemon

    init() throws {
        daemon = try TestDaemon(configuration: Self.configuration())
        try FileManager.default.createDirectory(atPath: daemon.path("more"), withIntermediateDirectories: false)
    }

    private func send(_ numbers: Range<Int>) throws {
        let sent = try daemon.penstock("send", "--acks", input: events(numbers))
        #expect(sent.status == 0, "\(sent.errors)")
    }

    private func rows(_ database: String, _ table: String = "events") throws -> [Int] {
        try daemon.sqlite(database, "SELECT message_id FROM \(table) ORDER BY message_id").compactMap {
            Int($0.dropFirst(2))
        }
    }

    private func move(_ from: String, to: String) throws {
        try FileManager.default.moveItem(atPath: daemon.path(from), toPath: daemon.path(to))
    }

    /// The database of `more` cannot be opened until `bringUp`. The daemon must not run.
    private func takeDown() throws {
        try move("more/more.db", to: "more/gone.db")
        try "no database\n".write(toFile: daemon.path("more/more.db"), atomically: false, encoding: .utf8)
    }

    private func bringUp() throws {
        let renamed = unsafe rename(daemon.path("more/gone.db"), daemon.path("more/more.db"))
        #expect(renamed == 0)
    }

    /// 1,000 events, a copy of the journal, 500 more events, and the copy is put back.
    private func putBack() throws {
        try daemon.start()
        try send(0..<1000)
        try daemon.settle()
        #expect(daemon.terminate() == 0)
        try FileManager.default.copyItem(atPath: daemon.path("journal"), toPath: daemon.path("copy"))
        try daemon.start()
        try send(1000..<1500)
        try daemon.settle()
        #expect(daemon.terminate() == 0)
        try move("journal", to: "newer")
        try move("copy", to: "journal")
    }

    private func expectRefusal(_ name: String) throws {
        try eventually("\(name) is failing") { try daemon.status().destinations[name]?.state == .failing }
        let destination = try #require(try daemon.status().destinations[name])
        #expect(destination.delivered == 0)
        let error = destination.lastError ?? ""
        #expect(error.contains("it has events up to position 1499, but the journal ended at position 1000"), "\(error)")
        #expect(error.contains("Set another table"))
        try eventually("the daemon is degraded") { try daemon.status().health == .degraded }
    }

    private func isFailing(_ name: String) throws -> Bool { try daemon.status().destinations[name]?.state == .failing }

    @Test func `new events wait until another table is set, across restarts, and then all of them are stored`() throws {
        try putBack()
        try daemon.start()
        try expectRefusal("rows")
        try send(1500..<1700)
        try expectRefusal("rows")
        #expect(daemon.terminate() == 0)
        // From here on, the journal's end is above the position of the tables.
        try daemon.start()
        try send(1700..<2300)
        try expectRefusal("rows")
        daemon.kill9()
        try daemon.start()
        for name in ["rows", "more"] { try expectRefusal(name) }
        #expect(try rows("rows.db") == Array(0..<1500))

        try daemon.write(configuration: Self.configuration(table: "later"))
        #expect(try daemon.reload().applied)
        try daemon.settle()
        for database in ["rows.db", "more/more.db"] {
            #expect(try rows(database, "later") == Array(1500..<2300))
            #expect(try rows(database) == Array(0..<1500))
        }
        #expect(daemon.terminate() == 0)
        try daemon.start()
        try send(2300..<2400)
        try daemon.settle()
        #expect(try rows("rows.db", "later") == Array(1500..<2400))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a kill before a server is up again does not make its store look whole`() throws {
        try putBack()
        try takeDown()
        try daemon.start()
        try expectRefusal("rows")
        try eventually("the server is down") { try isFailing("more") }
        try send(1500..<2500)
        daemon.kill9()
        try daemon.start()
        try eventually("the server is down") { try isFailing("more") }
        try bringUp()
        try eventually("the server is up") {
            try daemon.status().destinations["more"]?.lastError?.contains("is ahead of the journal") == true
        }
        for name in ["rows", "more"] { try expectRefusal(name) }
        #expect(try rows("more/more.db") == Array(0..<1500))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a store that was down through many restarts opens normally, and each event is stored once`() throws {
        try daemon.start()
        try send(0..<100)
        try daemon.settle()
        #expect(daemon.terminate() == 0)
        try takeDown()
        for round in 1..<5 {
            try daemon.start()
            try send(round * 100..<round * 100 + 100)
            try eventually("the server is down") { try isFailing("more") }
            if round % 2 == 0 { #expect(daemon.terminate() == 0) } else { daemon.kill9() }
        }
        try daemon.start()
        try bringUp()
        try send(500..<600)
        try daemon.settle()
        // The next starts compare with the journal's end again.
        daemon.kill9()
        try daemon.start()
        try send(600..<700)
        try daemon.settle()
        for database in ["rows.db", "more/more.db"] { #expect(try rows(database) == Array(0..<700)) }
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0..<700))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a reload while events are delivered refuses no store`() throws {
        try daemon.start()
        for round in 0..<6 {
            try send(round * 100..<round * 100 + 100)
            try daemon.write(configuration: Self.configuration(batch: 10 + round))
            #expect(try daemon.reload().applied)
        }
        try daemon.settle()
        #expect(!daemon.log.contains("ahead of the journal"))
        for database in ["rows.db", "more/more.db"] { #expect(try rows(database) == Array(0..<600)) }
        #expect(daemon.terminate() == 0)
    }

    @Test func `what is cut from a file and exists nowhere else is kept beside it`() throws {
        try putBack()
        try daemon.start()
        try send(1500..<1700)
        try daemon.settle(["archive"])
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0..<1000) + Array(1500..<1700))
        let copies = try FileManager.default.contentsOfDirectory(atPath: daemon.directory).filter {
            $0.hasPrefix("archive.ndjson.cut-")
        }
        #expect(copies.count == 1)
        #expect(daemon.lines(copies.first ?? "").compactMap(number) == Array(1000..<1500))
        #expect(daemon.log.contains("the bytes were moved to \(daemon.path(copies.first ?? ""))"))
        // An ordinary crash keeps nothing.
        daemon.kill9()
        try daemon.start()
        try daemon.settle(["archive"])
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0..<1000) + Array(1500..<1700))
        #expect(daemon.terminate() == 0)
        let later = try FileManager.default.contentsOfDirectory(atPath: daemon.directory).filter {
            $0.contains(".cut-")
        }
        #expect(later == copies)
    }
}
