import Control
import Foundation
import Platform
import Testing

/// A new configuration while clients are connected and events arrive.
@Suite struct ReloadTests {
    /// A client with its own thread that sends numbered events until it is stopped.
    private final class SteadyClient: @unchecked Sendable {
        private let client: EventClient
        private let stopping = Doorbell()
        private var thread: WorkerThread?
        /// Belongs to the thread. Read after `stop`.
        private var sent = 0
        private var failure: (any Error)?

        init(_ daemon: TestDaemon) throws {
            client = try EventClient(daemon)
            thread = WorkerThread(name: "client") { [self] in
                do {
                    // Each lot is acknowledged before the next, so that few events are unacknowledged at any time.
                    while !stopping.wait(until: SystemClock().now() + .milliseconds(1)) {
                        try client.send(events(sent..<sent + 5))
                        sent += 5
                        let answer = try client.acknowledgement(of: sent)
                        if !answer.refusals.isEmpty || answer.lines < sent { throw Failure("\(answer)") }
                    }
                } catch {
                    failure = error
                }
            }
        }

        /// - Returns: the number of events that were sent and acknowledged.
        func stop() throws -> Int {
            stopping.ring()
            thread?.join()
            if let failure { throw failure }
            return sent
        }
    }

    private func waitForMore(_ daemon: TestDaemon) throws {
        let before = try daemon.status().sources["apps"]?.accepted ?? 0
        try eventually("more events arrive") { try daemon.status().sources["apps"]?.accepted ?? 0 > before + 50 }
    }

    @Test func `a new configuration takes effect while a client keeps sending`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try TestDaemon(
            configuration: """
                routes:
                  - { to: [steady, batched, leaving, collector] }
                  - { name: goes, where: properties.x = 1, to: [steady] }
                destinations:
                  steady: { file: steady.ndjson }
                  batched: { file: batched.ndjson, batch: { events: 10, wait: 5ms } }
                  leaving: { file: leaving.ndjson }
                  collector: { http: "\(receiver.url)", format: ndjson, batch: { wait: 0s } }
                """)
        try daemon.start()
        let client = try SteadyClient(daemon)
        try waitForMore(daemon)

        for round in 0..<4 {
            // Each round changes `batched`, `collector`, the route of `steady`, and the sources.
            try daemon.write(
                configuration: """
                    routes:
                      - { name: changed, transforms: [ { set: { context.round: \(round) } } ], to: [steady] }
                      - { name: added, to: [batched, collector, arriving] }
                    destinations:
                      steady: { file: steady.ndjson }
                      batched: { file: batched.ndjson, batch: { events: \(20 + round), wait: 5ms } }
                      arriving: { file: arriving.ndjson }
                      collector: { http: "\(receiver.url)", format: ndjson, batch: { events: \(50 + round), wait: 0s } }
                    """,
                sources:
                    "{ apps: { socket: events.sock, max_connections: \(50 + round) }, more: { socket: more.sock } }")
            let reload = try daemon.penstock("reload")
            #expect(reload.status == 0, "\(reload.errors)")
            try waitForMore(daemon)
            let other = try EventClient(daemon, socket: daemon.path("more.sock"))
            try other.send(event(9_000_000 + round) + "\n")
            #expect(try other.acknowledgement(of: 1).lines == 1)
        }
        let sent = try client.stop()
        try daemon.settle()

        func own(_ name: String) -> [Int] { daemon.lines(name).compactMap(number).filter { $0 < 9_000_000 } }
        let all = Array(0..<sent)
        #expect(own("steady.ndjson") == all, "each event once, in order")
        #expect(own("batched.ndjson") == all, "each event once, in order, through every change")
        let leaving = own("leaving.ndjson")
        #expect(!leaving.isEmpty && leaving == Array(0..<leaving.count), "the events from before its removal")
        let arriving = own("arriving.ndjson")
        #expect(arriving == Array((arriving.first ?? 0)..<sent), "all events since it was added")
        #expect(arriving.count < sent)
        #expect(Set(receiver.events.compactMap(number)).isSuperset(of: all))
        #expect(daemon.lines("steady.ndjson").last?.contains(#""round":3"#) == true)
        let status = try daemon.status()
        #expect(status.sources["more"]?.accepted == 4)
        #expect(status.destinations.keys.sorted() == ["arriving", "batched", "collector", "steady"])
        #expect(daemon.terminate() == 0)
    }

    @Test func `an invalid configuration is rejected with all errors and changes nothing`() throws {
        let good = """
            routes: [ { to: [archive] } ]
            destinations: { archive: { file: archive.ndjson } }
            """
        let daemon = try TestDaemon(configuration: good)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(event(1) + "\n")
        #expect(try client.acknowledgement(of: 1).lines == 1)

        try daemon.write(
            configuration: """
                routes:
                  - { where: event === "x", to: [archive, archiv] }
                destinations:
                  archive: { file: other.ndjson, rotat: { size: 1MiB } }
                  collector: { http: "ftp://example.org/" }
                """)
        let refused = try daemon.penstock("reload")
        #expect(refused.status == 1)
        let errors = refused.errors.split(separator: "\n").filter { $0.contains(": error: ") }
        #expect(errors.count == 4, "\(refused.errors)")
        #expect(errors.allSatisfy { $0.hasPrefix(daemon.configurationFile + ":") })
        #expect(refused.errors.contains("did you mean") && refused.errors.contains("archive"))
        #expect(refused.errors.contains("the previous one stays in effect"))

        try client.send(event(2) + "\n")
        #expect(try client.acknowledgement(of: 2).lines == 2)
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number) == [1, 2])
        #expect(try daemon.status().destinations.keys.sorted() == ["archive"])
        #expect(!FileManager.default.fileExists(atPath: daemon.path("other.ndjson")))

        // SIGHUP does the same, and the log has the reason.
        daemon.signal(SIGHUP)
        try eventually("the log has the refusal") { daemon.log.components(separatedBy: "was refused").count > 2 }
        try daemon.write(configuration: good)
        #expect(try daemon.penstock("reload").status == 0)
        #expect(daemon.terminate() == 0)
    }

    @Test func `all errors of applying a configuration are reported, and nothing changes`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive] } ]
                destinations: { archive: { file: archive.ndjson } }
                """)
        try daemon.start()
        try "no socket".write(toFile: daemon.path("file"), atomically: true, encoding: .utf8)
        try daemon.write(
            configuration: """
                routes: [ { to: [archive, rows, other] } ]
                destinations:
                  archive: { file: elsewhere.ndjson }
                  rows: { plugin: sqlite, settings: { pat: rows.db } }
                  other: { plugin: nothing-of-that-name }
                """,
            sources:
                "{ apps: { socket: events.sock, mode: \"0600\" }, new: { socket: new.sock }, blocked: { socket: file } }"
        )
        let refused = try daemon.reload()
        #expect(!refused.applied)
        #expect(refused.errors.count == 4, "\(refused.errors)")
        #expect(refused.errors.contains { $0.contains("file exists and is not a socket") })
        #expect(refused.errors.contains { $0.contains("settings.pat: is not a setting of this plugin") })
        #expect(refused.errors.contains { $0.contains("there is no plugin \"nothing-of-that-name\"") })
        #expect(!FileManager.default.fileExists(atPath: daemon.path("new.sock")))
        #expect(try mode(of: daemon.events) == 0o660, "the socket in use is unchanged")

        let client = try EventClient(daemon)
        try client.send(event(1) + "\n")
        #expect(try client.acknowledgement(of: 1).lines == 1)
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number) == [1])
        #expect(!FileManager.default.fileExists(atPath: daemon.path("elsewhere.ndjson")))
        #expect(daemon.terminate() == 0)
    }

    @Test func `warnings are logged at the start and reported by a reload`() throws {
        let warned = """
            routes: [ { where: typ = track, to: [archive] } ]
            destinations: { archive: { file: archive.ndjson } }
            """
        let daemon = try TestDaemon(configuration: warned)
        try daemon.start()
        defer { daemon.kill9() }
        let message = "events have no field track, so this is always missing"
        #expect(daemon.log.contains(message), "\(daemon.log)")
        let result = try daemon.penstock("reload")
        #expect(result.status == 0 && result.errors.contains("warning: \(message)"), "\(result)")
        #expect(result.errors.contains("hint: did you mean \"track\"? put text in quotes"), "\(result)")
    }

    @Test func `the journal's directory cannot change`() throws {
        let configuration = """
            routes: [ { to: [archive] } ]
            destinations: { archive: { file: archive.ndjson } }
            """
        let daemon = try TestDaemon(configuration: configuration)
        try daemon.start()
        try daemon.write(configuration: configuration, journal: "{ directory: other-journal }")
        let refused = try daemon.penstock("reload")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("journal.directory cannot change while the daemon runs"), "\(refused.errors)")
        #expect(!FileManager.default.fileExists(atPath: daemon.path("other-journal")))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a source can be renamed without closing its socket`() throws {
        let configuration = """
            routes: [ { to: [archive] } ]
            destinations: { archive: { file: archive.ndjson } }
            """
        let daemon = try TestDaemon(configuration: configuration)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(event(1) + "\n")
        #expect(try client.acknowledgement(of: 1).lines == 1)
        try daemon.write(configuration: configuration, sources: "{ web: { socket: events.sock } }")
        let reload = try daemon.reload()
        #expect(reload.applied, "\(reload.errors)")
        try client.send(event(2) + "\n")
        #expect(try client.acknowledgement(of: 2).lines == 2)
        let later = try EventClient(daemon)
        try later.send(event(3) + "\n")
        #expect(try later.acknowledgement(of: 1).lines == 1)
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number) == [1, 2, 3])
        #expect(try daemon.status().sources["web"]?.accepted == 1)
        #expect(daemon.terminate() == 0)
        #expect(!FileManager.default.fileExists(atPath: daemon.events), "the daemon removes its own socket")
    }

    @Test func `a removed source accepts no new clients and keeps the connected ones`() throws {
        let configuration = """
            routes: [ { to: [archive] } ]
            destinations: { archive: { file: archive.ndjson } }
            """
        let both = "{ apps: { socket: events.sock }, more: { socket: more.sock } }"
        let daemon = try TestDaemon(configuration: configuration, sources: both)
        try daemon.start()
        let client = try EventClient(daemon, socket: daemon.path("more.sock"))
        try client.send(event(1) + "\n")
        #expect(try client.acknowledgement(of: 1).lines == 1)
        try daemon.write(configuration: configuration)
        #expect(try daemon.reload().applied)
        #expect(throws: UnixSocketError.self) { try EventClient(daemon, socket: daemon.path("more.sock")) }
        try client.send(event(2) + "\n")
        #expect(try client.acknowledgement(of: 2).lines == 2)
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number) == [1, 2])
        #expect(daemon.terminate() == 0)
    }

    private func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
}
