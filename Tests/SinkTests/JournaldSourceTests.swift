import Foundation
import PluginTesting
import Testing

/// The journald plugin's source, on files that systemd-journal-remote has written.
@Suite struct JournaldSourceTests {
    private let directory: PluginTestDirectory
    private let logs: JournalDirectory
    private let journal = LaneJournal()

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libjournald.so")
        logs = try JournalDirectory()
    }

    private func create(
        _ more: String = "", from: String = "beginning", _ configure: (inout SourceStage.Options) -> Void = { _ in }
    ) throws -> SourceStage {
        unsafe try SourceStage(
            SourceStage.load("\(directory.path)/libjournald.so"),
            settings: #"{"directory":"\#(logs.path)","start":"\#(from)"\#(more)}"#, journal: journal, configure)
    }

    private func start(
        _ more: String = "", from: String = "beginning", _ configure: (inout SourceStage.Options) -> Void = { _ in }
    ) throws -> SourceStage {
        let stage = try create(more, from: from, configure)
        try stage.connect()
        try stage.start()
        return stage
    }

    private var events: [[String: Any]] {
        journal.texts.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    }
    private var properties: [[String: Any]] { events.compactMap { $0["properties"] as? [String: Any] } }
    private var messages: [String] { properties.map { $0["message"] as? String ?? "" } }
    private func messages(_ numbers: Range<Int>) -> [String] { numbers.map { "m\($0)" } }
    private func packed(_ cursor: String) -> [UInt8] {
        let hex = cursor.split(separator: ";").map { $0.dropFirst(2) }
        let order =
            [hex[0], hex[2]]
            + [hex[1], hex[3], hex[4], hex[5]].map { text in
                Substring(String(repeating: "0", count: 16 - text.count) + text)
            }
        let digits = Array(order.joined().utf8)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }

    @Test func `an entry becomes an event`() throws {
        try logs.append([
            (
                5,
                [
                    ("MESSAGE", Array("disk \"full\"\n€".utf8)), ("PRIORITY", [0x34]), ("_PID", Array("17".utf8)),
                    ("_SYSTEMD_UNIT", Array("db.service".utf8)), ("SYSLOG_IDENTIFIER", Array("db".utf8)),
                    ("_HOSTNAME", Array("h1".utf8)), ("CODE_LINE", Array("7".utf8)), ("_CMDLINE", Array("x".utf8)),
                    ("TAG", Array("a".utf8)), ("TAG", Array("b".utf8)),
                ]
            )
        ])
        let stage = try start()
        #expect(pluginEventually { journal.count == 1 })
        let event = try #require(events.first)
        let cursor = try #require(try logs.cursors().first)
        let parts = cursor.split(separator: ";").map { String($0.dropFirst(2)) }
        #expect(event["type"] as? String == "track" && event["event"] as? String == "Log Line")
        #expect(event["messageId"] as? String == "\(parts[0])-\(parts[1])-\(parts[5])")
        #expect(event["anonymousId"] as? String == JournalDirectory.machine)
        #expect(event["timestamp"] as? String == "2023-11-14T22:13:25.000000Z")
        let properties = try #require(properties.first)
        #expect(properties["message"] as? String == "disk \"full\"\n€")
        #expect(properties["priority"] as? Int == 4 && properties["pid"] as? Int == 17)
        #expect(properties["unit"] as? String == "db.service" && properties["identifier"] as? String == "db")
        #expect(properties["host"] as? String == "h1" && properties["CODE_LINE"] as? String == "7")
        #expect(properties["TAG"] as? [String] == ["a", "b"])
        #expect(properties["_CMDLINE"] == nil && properties["truncated"] == nil && properties.count == 8)
        // The position is journald's cursor in 64 bytes.
        #expect(journal.now.lanes["journal"] == packed(cursor))
        #expect(stage.openLanes == ["journal"])
        stage.close()
        #expect(stage.openLanes.isEmpty && stage.violations.isEmpty)
    }

    @Test func `an instance that is killed and started again continues behind the last entry`() throws {
        try logs.append(0..<3000)
        for _ in 0..<3 {
            let stage = try start {
                $0.maxOfferEvents = 7
                $0.window = 3000
            }
            let count = journal.count
            // On a busy machine, all entries may have come before this thread looks again.
            #expect(pluginEventually { journal.count >= min(count + 300, 3000) })
            stage.crash()
            #expect(stage.violations.isEmpty && stage.failure == nil)
        }
        let stage = try start()
        #expect(pluginEventually { journal.count >= 3000 })
        stage.close()
        #expect(messages == messages(0..<3000))
        #expect(Set(events.compactMap { $0["messageId"] as? String }).count == 3000)
        #expect(journal.now.lanes["journal"] == packed(try #require(try logs.cursors().last)))
    }

    @Test func `new entries are read as they come, across rotations`() throws {
        try logs.append(0..<10)
        let stage = try start()
        #expect(pluginEventually { journal.count == 10 })
        try logs.append(10..<20)
        #expect(pluginEventually { journal.count == 20 })
        try logs.rotate(to: "1")
        try logs.append(20..<30)
        #expect(pluginEventually { journal.count == 30 })
        try logs.rotate(to: "2")
        try logs.remove("system@1")
        try logs.append(30..<40)
        #expect(pluginEventually { journal.count == 40 })
        #expect(messages == messages(0..<40))
        stage.crash()
        try logs.append(40..<50)
        let next = try start()
        #expect(pluginEventually { journal.count >= 50 })
        #expect(messages == messages(0..<50))
        #expect(next.counters["journald_positions_gone"] == nil)
        next.close()
    }

    @Test func `reading begins at the end, which is the position from then on`() throws {
        try logs.append(0..<10)
        let stage = try start(from: "end")
        #expect(pluginEventually { journal.now.lanes["journal"] != nil })
        stage.crash()
        try logs.append(10..<15)
        let next = try start(from: "end")
        #expect(pluginEventually { journal.count >= 5 })
        #expect(messages == messages(10..<15))
        next.close()
    }

    @Test func `after the last entry was deleted, reading goes on at the next one, and says so`() throws {
        try logs.append(0..<10)
        var stage = try start()
        #expect(pluginEventually { journal.count == 10 })
        stage.close()
        try logs.append(10..<20)
        try logs.rotate(to: "1")
        try logs.append(20..<30)
        try logs.remove("system@1")
        stage = try start()
        #expect(pluginEventually { journal.count == 20 })
        #expect(messages == messages(0..<10) + messages(20..<30))
        #expect(stage.counters["journald_positions_gone"] == 1)
        #expect(stage.log.contains { $0.contains("the journal no longer has the entry that was read last") })
        stage.close()
        // No entry is later than the position.
        try logs.remove("system")
        stage = try start()
        #expect(pluginEventually { stage.counters["journald_positions_gone"] == 1 })
        try logs.append(2..<4)
        #expect(pluginEventually { journal.count == 22 })
        stage.close()
    }

    @Test func `values that are binary or huge become text that is cut and marked`() throws {
        let long = Array(repeating: UInt8(ascii: "x"), count: 1 << 20)
        let binary: [UInt8] = [0, 1, 0x1F, 0xFF, 0xC3, 0x28, 0x41, 0xF0, 0x9F]
        try logs.append([
            (
                1,
                [
                    ("MESSAGE", binary), ("STACK", long),
                    ("EURO", Array(repeating: "€", count: 40).joined().utf8.map { $0 }),
                ]
            ),
            (2, [("MESSAGE", [0x20]), ("STACK", Array("short".utf8))]),
        ])
        let stage = try start(#","max_value":100"#)
        #expect(pluginEventually { journal.count == 2 })
        let first = try #require(properties.first)
        #expect(first["message"] as? String == String(decoding: binary, as: UTF8.self))
        #expect((first["STACK"] as? String)?.utf8.count == 100)
        #expect(first["EURO"] as? String == String(repeating: "€", count: 33))
        #expect(Set(first["truncated"] as? [String] ?? []) == ["STACK", "EURO"])
        #expect(properties.last?["STACK"] as? String == "short" && properties.last?["message"] as? String == " ")
        stage.close()
    }

    @Test(arguments: [
        (#""match":["A=1"]"#, [0, 1, 2]), (#""match":["A=1","B=x"]"#, [0]), (#""match":["A=1","A=2"]"#, [0, 1, 2, 3]),
        (#""match":["A=1","B=x","+","B=y"]"#, [0, 1, 3]), (#""match":["C=="]"#, [4]), (#""match":["D=1"]"#, []),
        (#""priority":"err""#, [0, 1]), (#""priority":7"#, [0, 1, 2, 3]), (#""priority":"3""#, [0, 1]),
        (#""units":["nginx"]"#, [2, 4]), (#""units":["nginx.service","db.socket"]"#, [2, 3, 4]),
        (#""identifiers":["sshd","cron"]"#, [1, 3]), (#""identifiers":["sshd"],"match":["A=2"]"#, []),
    ])
    func `only entries that match become events`(settings: String, numbers: [Int]) throws {
        func entry(_ number: Int, _ fields: KeyValuePairs<String, String>) -> (Int, [JournalDirectory.Field]) {
            (number, ([("MESSAGE", "m\(number)")] + fields.map { ($0.key, $0.value) }).map { ($0, Array($1.utf8)) })
        }
        try logs.append([
            entry(0, ["A": "1", "B": "x", "PRIORITY": "0"]),
            entry(1, ["A": "1", "B": "y", "PRIORITY": "3", "SYSLOG_IDENTIFIER": "sshd"]),
            entry(2, ["A": "1", "PRIORITY": "4", "_SYSTEMD_UNIT": "nginx.service"]),
            entry(3, ["A": "2", "B": "y", "PRIORITY": "7", "SYSLOG_IDENTIFIER": "cron", "_SYSTEMD_UNIT": "db.socket"]),
            entry(4, ["A": "3", "C": "=", "UNIT": "nginx.service", "_PID": "1"]),
            entry(5, ["A": "3", "UNIT": "nginx.service", "_PID": "100"]),
            entry(6, ["END": "1"]),
        ])
        let stage = try start(",\(settings)")
        #expect(pluginEventually { journal.count >= numbers.count })
        stage.close()
        #expect(messages == numbers.map { "m\($0)" })
    }

    @Test func `entries that do not match move the position`() throws {
        try logs.append(0..<20)
        try logs.append(20..<25_000, ["A": "1"])
        let stage = try start(#","match":["A=2"]"#)
        let cursors = try logs.cursors()
        #expect(KafkaSourceGroup.eventually { journal.now.lanes["journal"] == packed(cursors[24_999]) })
        // After 10,000, 20,000, and once it waits for new entries.
        #expect(journal.count == 0 && stage.offerCount == 3)
        stage.close()
    }

    @Test func `entries of Penstock itself are left out`() throws {
        let machine = String(try String(contentsOfFile: "/etc/machine-id", encoding: .utf8).prefix(32))
        try logs.append(0..<1, ["PENSTOCK_POSITION": "7"])
        try logs.append(1..<2, ["_COMM": "penstockd"])
        try logs.append(2..<3, ["_COMM": "nginx"])
        for (number, program) in [(3, "penstockd"), (4, "penstock-plugin"), (5, "cron")] {
            let fields = [("MESSAGE", "m\(number)"), ("_COMM", program)]
            try logs.append([(number, fields.map { ($0, Array($1.utf8)) })], machine: machine)
        }
        let stage = try start()
        #expect(pluginEventually { journal.count == 3 })
        // Another machine's daemon is no loop.
        #expect(messages == ["m1", "m2", "m5"] && stage.counters["journald_own_entries"] == 3)
        stage.close()
        let other = LaneJournal()
        let all = unsafe try SourceStage(
            SourceStage.load("\(directory.path)/libjournald.so"),
            settings: #"{"directory":"\#(logs.path)","start":"beginning","own":true}"#, journal: other)
        try all.connect()
        try all.start()
        #expect(pluginEventually { other.count == 6 })
        all.close()
    }

    @Test func `the event's name may have placeholders, and the fields may be chosen`() throws {
        try logs.append(0..<1, ["SYSLOG_IDENTIFIER": "db", "OTHER": "x", "_CMDLINE": "db --all"])
        try logs.append(1..<2, ["SYSLOG_IDENTIFIER": String(repeating: "€", count: 200)])
        let stage = try start(
            #","event":"Log {properties.identifier|unknown} {properties.none|-}","fields":["MESSAGE","_CMDLINE","#
                + #""SYSLOG_IDENTIFIER"]"#)
        #expect(pluginEventually { journal.count == 2 })
        #expect(events[0]["event"] as? String == "Log db -")
        #expect(Set(properties[0].keys) == ["message", "identifier", "_CMDLINE"])
        let name = try #require(events[1]["event"] as? String)
        #expect(name.utf8.count <= 256 && name.hasPrefix("Log €") && !name.contains("\u{FFFD}"))
        stage.close()
    }

    @Test func `a host that is busy gets every entry, and stop ends the wait`() throws {
        try logs.append(0..<1000)
        let stage = try create {
            $0.window = 20_000
            $0.maxOfferEvents = 10
        }
        stage.hold()
        try stage.connect()
        try stage.start()
        #expect(pluginEventually { stage.busyCount > 0 })
        stage.release()
        #expect(pluginEventually { journal.count == 1000 })
        stage.hold()
        let busy = stage.busyCount
        try logs.append(1000..<2000)
        #expect(pluginEventually { stage.busyCount > busy })
        let start = Date()
        stage.crash()
        #expect(Date().timeIntervalSince(start) < 30 && stage.violations.isEmpty)
    }

    @Test func `20,000 entries are read quickly`() throws {
        try logs.append(0..<20_000, ["PRIORITY": "6", "SYSLOG_IDENTIFIER": "load", "_SYSTEMD_UNIT": "load.service"])
        let stage = try start()
        #expect(pluginEventually { journal.count > 0 })
        let start = ContinuousClock.now
        #expect(pluginEventually { journal.count == 20_000 })
        print("journald source: 20,000 entries in \(ContinuousClock.now - start)")
        stage.close()
    }

    @Test(arguments: [
        (#""match":["a=1"]"#, #"settings.match: "a=1" must be FIELD=value"#), (#""match":["A"]"#, "settings.match"),
        (#""match":["+"]"#, "must stand between two groups"), (#""match":["A=1","+"]"#, "must stand between"),
        (#""max_value":64,"match":["A=\#(String(repeating: "x", count: 65))"]"#, "longer than settings.max_value"),
        (#""fields":["message"]"#, "settings.fields"), (#""priority":8"#, "settings.priority: must be 0 to 7"),
        (#""priority":-1"#, "settings.priority"), (#""priority":"loud""#, "settings.priority"),
        (#""event":"{""#, "settings.event"), (#""max_value":63"#, "settings.max_value"),
        (#""max_value":9223372036854775807"#, "settings.max_value"),
    ])
    func `bad settings are named`(settings: String, words: String) throws {
        let error = #expect(throws: TestProblem.self) { try create(",\(settings)") }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test func `a missing directory, files that may not be read, and a foreign position are named`() throws {
        let stage = unsafe try SourceStage(
            SourceStage.load("\(directory.path)/libjournald.so"),
            settings: #"{"directory":"\#(logs.path)/none"}"#, journal: journal)
        let error = #expect(throws: TestProblem.self) { try stage.connect() }
        #expect(error?.description == "settings.directory: \(logs.path)/none does not exist")
        for (name, position) in [("journal", "7"), ("events/0", String(repeating: "x", count: 64))] {
            let foreign = unsafe try SourceStage(
                SourceStage.load("\(directory.path)/libjournald.so"),
                settings: #"{"directory":"\#(logs.path)"}"#, journal: LaneJournal([name: position]))
            try foreign.connect()
            let error = #expect(throws: TestProblem.self) { try foreign.start() }
            #expect(error?.description.contains("is not one of this plugin") == true)
        }
    }
}
