import Control
import Foundation
import PluginTesting
import TestSupport
import Testing

/// A source plugin in the real daemon. The plugin offers events with the message ids 0-0, 0-1 … on lane 0, and so on; a
/// lane's position is the number of its next event.
@Suite struct SourcePluginTests {
    private static let destinations = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """
    private static let journal = "{ directory: journal, segment_size: 1MiB }"
    private let daemon: TestDaemon
    private var installed: String { daemon.path("plugins/libcounting.so") }

    init() throws {
        daemon = try TestDaemon(
            configuration: Self.destinations, sources: "{}", journal: Self.journal, plugins: "DIRECTORY/plugins")
        try FileManager.default.createDirectory(
            atPath: daemon.path("plugins"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        try install("libcounting.so")
    }

    /// As a package manager does it: a new file takes the old one's name.
    private func install(_ name: String, options: [String] = []) throws {
        let path = daemon.path("plugins/\(name)")
        let library = try TestCompiler.library("counting.c", "GOOD", options: options)
        try library.write(to: URL(fileURLWithPath: path + ".new"))
        let renamed = unsafe rename(path + ".new", path)
        #expect(renamed == 0)
    }

    private func configure(_ sources: String, rest: String = destinations) throws {
        try daemon.write(configuration: rest, sources: sources, journal: Self.journal)
    }

    private func source(lanes: Int, events: Int, size: Int = 100, more: String = "") -> String {
        let settings = "{ lanes: \(lanes), events: \(events), batch: 37, size: \(size) }"
        return "{ in: { plugin: counting, settings: \(settings)\(more) } }"
    }

    private func reload() throws {
        let reload = try daemon.penstock("reload")
        #expect(reload.status == 0, "\(reload.errors)")
    }

    private var accepted: UInt64 { (try? daemon.status().sources["in"]?.accepted) ?? 0 }

    /// Waits until the journal has this many events, then expects each event of each lane once, in order.
    private func expect(lanes: Int, events: Int, besides: UInt64 = 0) throws {
        try eventually("all events are stored") {
            try daemon.status().journal.next == UInt64(lanes * events) + besides
        }
        try daemon.settle()
        var next = Array(repeating: 0, count: lanes)
        for line in daemon.lines("archive.ndjson") {
            let id = try #require(line.firstMatch(of: /"messageId":"(\d+)-(\d+)"/), "\(line)")
            let (lane, number) = (try #require(Int(id.1)), try #require(Int(id.2)))
            #expect(number == next[lane], "lane \(lane)")
            next[lane] = number + 1
        }
        #expect(next == Array(repeating: events, count: lanes), "each event exactly once")
    }

    @Test func `the plugin and the daemon are killed in turn, and each event is stored once, in order`() throws {
        try configure(source(lanes: 3, events: 60_000))
        try daemon.start()
        for round in 0..<12 {
            let before = try daemon.status().journal.next
            try eventually("events come in") { try daemon.status().journal.next >= min(before + 1000, 180_000) }
            if round % 2 == 0 {
                #expect(kill(try pluginProcess(), SIGKILL) == 0)
            } else {
                daemon.kill9()
                try daemon.start()
            }
        }
        try eventually("all events are stored") { try daemon.status().journal.next == 180_000 }
        // The last round may have killed the daemon after the last event of a lane, which is not opened again then. So
        // each lane gets a few more.
        try configure(source(lanes: 3, events: 60_050))
        try reload()
        try expect(lanes: 3, events: 60_050)
        try eventually("the source reads all its lanes") {
            let source = try daemon.status().sources["in"]
            return source?.state == .up && source?.openLanes == 3 && source?.lanes?["lane-2"] == "60050"
        }
        #expect(daemon.terminate() == 0)
    }

    /// What an edge knows of its events, and an aggregator would not: the host, and when it received them.
    @Test func `events of another host keep its name and their receive time, and are measured from then on`() throws {
        try daemon.write(
            configuration: """
                routes: [ { to: [archive], where: context.penstock.host = "edge-1" } ]
                destinations:
                  archive:
                    file: archive.ndjson
                    mapping: { id: $.messageId, host: $.context.penstock.host, at: $.receivedAt, time: $.timestamp }
                """,
            sources: "{ in: { plugin: counting, settings: { mode: edge, lanes: 1, events: 100 } } }",
            journal: Self.journal, control: TestDaemon.control(metrics: "127.0.0.1:0"))
        try daemon.start()
        try eventually("all events are stored") { try daemon.status().journal.next == 100 }
        try daemon.settle()
        let (earliest, latest) = (Date.now.addingTimeInterval(-3700), Date.now.addingTimeInterval(-3599))
        let lines = daemon.lines("archive.ndjson")
        #expect(lines.count == 100)
        for line in lines {
            let fields = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
            #expect(fields["host"] == "edge-1")
            for key in ["at", "time"] {
                let time = try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(#require(fields[key]))
                #expect((earliest...latest).contains(time), "\(key): \(time)")
            }
        }
        let status = try daemon.status()
        #expect(try #require(status.destinations["archive"]?.latency).p50 > 3000)
        #expect(try #require(status.sources["in"]?.lagSeconds) >= 3600)
        #expect(try daemon.penstock("status").output.contains(/reads 1 lane, [0-9.]+ (min|h) behind/))
        // They are older than ready_lag, which is 5 minutes.
        let ready = try Program.run(
            "curl", ["-sS", "--noproxy", "*", "-w", "%{http_code}", try daemon.metricsURL() + "/ready"])
        #expect(ready.output.hasSuffix("503"), "\(ready.output)")
        let dump = try daemon.penstock("journal", "dump").output
        #expect(dump.contains(#""source":"in","host":"edge-1","first_received_at":"20"#), "\(dump.prefix(300))")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a stopped daemon's source goes on where it was`() throws {
        try configure(source(lanes: 2, events: 30_000))
        for _ in 0..<4 {
            try daemon.start()
            let before = try daemon.status().journal.next
            try eventually("events come in") { try daemon.status().journal.next >= min(before + 100, 60_000) }
            #expect(daemon.terminate() == 0)
        }
        try daemon.start()
        try expect(lanes: 2, events: 30_000)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a reload adds, changes, replaces and removes a source plugin`() throws {
        try daemon.start()
        let identifier = daemon.processIdentifier
        try configure(source(lanes: 1, events: 1000))
        try reload()
        try expect(lanes: 1, events: 1000)
        let first = try pluginProcess()
        // Nothing has changed: the same process goes on.
        try reload()
        #expect(try pluginProcess() == first)
        try install("libcounting.so", options: ["-DREPLACED"])
        try reload()
        try eventually("a new process") { try pluginProcess() != first }
        try configure(source(lanes: 1, events: 2000))
        try reload()
        try expect(lanes: 1, events: 2000)
        // A source that comes back goes on where it was.
        try configure("{}")
        try reload()
        #expect(try processes().isEmpty && daemon.status().sources.isEmpty)
        try configure(source(lanes: 1, events: 3000))
        try reload()
        try expect(lanes: 1, events: 3000)
        #expect(daemon.processIdentifier == identifier && daemon.terminate() == 0)
    }

    @Test func `a plugin that cannot be loaded stops its source alone, and says why`() throws {
        try configure(
            """
            { apps: { socket: events.sock }, in: { plugin: broken, settings: { lanes: 1, events: 10 } } }
            """)
        try Data("garbage".utf8).write(to: URL(fileURLWithPath: daemon.path("plugins/libbroken.so")))
        try daemon.start()
        try eventually("the source fails") { try daemon.status().sources["in"]?.state == .failing }
        let status = try daemon.status()
        #expect(status.health == .degraded && status.reasons.contains { $0.hasPrefix("in failing: ") })
        let text = try daemon.penstock("status").output
        #expect(text.contains("in: failing, reads 0 lanes: "), "\(text)")
        let sent = try daemon.penstock("send", "--acks", input: events(0..<10))
        #expect(sent.status == 0, "\(sent.errors)")
        try install("libbroken.so")
        try reload()
        try eventually("the source works") { try daemon.status().sources["in"]?.accepted == 10 }
        #expect(daemon.terminate() == 0)
    }

    @Test func `a source's events are scrubbed and checked like those of an application`() throws {
        try configure(
            source(lanes: 1, events: 50, more: ", scrub: [ { drop: [pad] } ]"),
            rest: Self.destinations + "\nplan: { file: plan.yaml, on_violation: refuse }\n")
        try "events: { Other: {} }".write(toFile: daemon.path("plan.yaml"), atomically: true, encoding: .utf8)
        try daemon.start()
        try eventually("the events are refused") { try daemon.status().sources["in"]?.refused == 50 }
        #expect(try daemon.status().journal.next == 0)
        try eventually("the status says it") {
            try daemon.status().reasons.contains { $0.hasPrefix("in refused 50 events in the last 5 min: ") }
        }
        // The lane has moved on: the refused events do not come again.
        try "events: { Other: {}, E: {} }".write(toFile: daemon.path("plan.yaml"), atomically: true, encoding: .utf8)
        try configure(
            source(lanes: 1, events: 80, more: ", scrub: [ { drop: [pad] } ]"),
            rest: Self.destinations + "\nplan: { file: plan.yaml, on_violation: refuse }\n")
        try reload()
        try eventually("later events are stored") { try daemon.status().journal.next == 30 }
        try daemon.settle()
        let lines = daemon.lines("archive.ndjson")
        #expect(lines.count == 30 && lines.allSatisfy { !$0.contains("pad") } && lines[0].contains(#""0-50""#))
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: ["reject", "block"])
    func `a full journal holds a source, and loses nothing`(whenFull: String) throws {
        let held = """
            routes: [ { to: [archive, down] } ]
            destinations:
              archive: { file: archive.ndjson }
              down: { http: "http://127.0.0.1:1/", retry: { initial: 1h, max: 1h } }
            """
        let full =
            "{ directory: journal, segment_size: 1MiB, retain: { size: 16MiB, time: 1m }, when_full: \(whenFull) }"
        try daemon.write(configuration: held, sources: source(lanes: 2, events: 20_000, size: 700), journal: full)
        try daemon.start()
        try eventually("the source is held") { try daemon.status().sources["in"]?.state == .held }
        #expect(try daemon.status().sources["in"]?.refused == 0)
        try daemon.write(
            configuration: Self.destinations, sources: source(lanes: 2, events: 20_000, size: 700), journal: full)
        try reload()
        try expect(lanes: 2, events: 20_000)
        #expect(daemon.terminate() == 0)
    }

    @Test func `check judges a source's plugin and settings`() throws {
        try configure("{ in: { plugin: counting } }")
        #expect(try Program.penstock(["check", "--config", daemon.configurationFile]).status == 0)
        try configure("{ in: { plugin: countin } }")
        let check = try Program.penstock(["check", "--config", daemon.configurationFile])
        #expect(check.status != 0 && check.errors.contains("did you mean \"counting\"?"), "\(check)")
    }

    /// The number of the one process that hosts a plugin of this daemon.
    private func pluginProcess() throws -> pid_t {
        var found: pid_t?
        try eventually("the plugin's process runs") {
            let processes = try processes()
            found = processes.first
            return processes.count == 1
        }
        return try #require(found)
    }

    /// The numbers of the daemon's children.
    private func processes() throws -> [pid_t] {
        let tasks = "/proc/\(daemon.processIdentifier)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).flatMap { task in
            ((try? String(contentsOfFile: "\(tasks)/\(task)/children", encoding: .utf8)) ?? "")
                .split(separator: " ").compactMap { pid_t($0) }
        }
    }
}
