import Control
import Foundation
import Platform
import Testing

/// A reload that fails midway changes nothing.
@Suite struct ReloadRollbackTests {
    private static let before = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """
    private static let after = """
        routes: [ { to: [archive, second, collector] } ]
        destinations:
          archive: { file: archive.ndjson, batch: { events: 7 } }
          second: { file: second.ndjson }
          collector: { http: "http://127.0.0.1:1/", retry: { initial: 1h, max: 1h } }
        """
    private static let oldSources =
        #"{ apps: { socket: events.sock, mode: "0600" }, leaving: { socket: leaving.sock } }"#
    private static let newSources = """
        { apps: { socket: events.sock, mode: "0666", max_connections: 50 }, b: { socket: b.sock }, c: { socket: c.sock }, \
        d: { socket: d.sock } }
        """

    /// Checks that the daemon is unchanged: its sockets, sources and destinations, and that it delivers events.
    private func expectBefore(_ daemon: TestDaemon, _ client: EventClient, _ events: Int, _ why: String) throws {
        let status = try daemon.status()
        #expect(Set(status.sources.keys) == ["apps", "leaving"], "\(why)")
        #expect(Set(status.destinations.keys) == ["archive"], "\(why)")
        let files = try FileManager.default.contentsOfDirectory(atPath: daemon.directory).filter {
            $0.hasSuffix(".sock")
        }
        #expect(Set(files) == ["events.sock", "leaving.sock", "control.sock"], "\(why)")
        let mode = try FileManager.default.attributesOfItem(atPath: daemon.events)[.posixPermissions] as? Int
        #expect(mode == 0o600, "\(why)")
        try client.send(event(events) + "\n")
        let answer = try client.acknowledgement(of: events + 1)
        #expect(answer.lines == events + 1 && answer.refusals == [], "\(why): \(answer.refusals)")
        try eventually("the event is delivered (\(why))") { daemon.lines("archive.ndjson").count == events + 1 }
    }

    /// A connection from before the descriptors run out.
    private final class ControlStream {
        private let stream: UnixStream

        init(_ daemon: TestDaemon) throws {
            stream = try UnixStream(connectingTo: daemon.control)
            _ = try answer(to: "GET /status")
        }

        func reload() throws -> ReloadReport {
            try JSONDecoder().decode(ReloadReport.self, from: Data(answer(to: "POST /reload").utf8))
        }

        /// The body of the answer, which is one line.
        private func answer(to request: String) throws -> String {
            let bytes = Array("\(request) HTTP/1.1\r\nhost: penstock\r\ncontent-length: 0\r\n\r\n".utf8)
            _ = try stream.write(bytes.span)
            var text = ""
            while true {
                if let body = text.range(of: "\r\n\r\n"), text[body.upperBound...].hasSuffix("\n") {
                    return String(text[body.upperBound...])
                }
                guard try stream.wait(toWrite: false, timeout: .seconds(60)).canRead else {
                    throw Failure("no answer for 60 s")
                }
                let part = try stream.read(upTo: 64 << 10)
                if part.isEmpty { throw Failure("the control connection ended: \(text)") }
                text += String(decoding: part, as: UTF8.self)
            }
        }
    }

    private func writeAfter(_ daemon: TestDaemon) throws {
        try daemon.write(configuration: Self.after, sources: Self.newSources)
        let text = try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)
        try text.replacingOccurrences(of: "{ socket: control.sock }", with: "{ socket: control2.sock }")
            .write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
    }

    @Test func `a reload that runs out of descriptors at any step changes nothing`() throws {
        let daemon = try TestDaemon(configuration: Self.before, sources: Self.oldSources)
        try daemon.start()
        let client = try EventClient(daemon)
        try writeAfter(daemon)
        let soft = try String(contentsOfFile: "/proc/\(daemon.processIdentifier)/limits", encoding: .utf8)
            .split(separator: "\n").first { $0.hasPrefix("Max open files") }?.split(separator: " ").dropFirst(3).first
            .flatMap { Int($0) }
        let before = try #require(soft)
        var (failures, isApplied) = (0, false)
        var spare = 0
        while !isApplied, spare < 200 {
            let connection = try ControlStream(daemon)
            // The limit applies to descriptor numbers: `spare` numbers below it are free.
            let open = try daemon.descriptors
            var (number, free) = (0, 0)
            while free < spare || open.contains(number) {
                if !open.contains(number) { free += 1 }
                number += 1
            }
            try daemon.limit(descriptors: number)
            let report = try connection.reload()
            try daemon.limit(descriptors: before)
            isApplied = report.applied
            if !isApplied {
                failures += 1
                try expectBefore(daemon, client, failures - 1, "\(spare) descriptors: \(report.errors)")
            }
            spare += 1
        }
        #expect(isApplied)
        #expect(failures >= 5, "the limit must be reached at several steps")
        // The control socket moved, and the whole new configuration is in effect.
        let status = try ControlClient(socket: daemon.path("control2.sock")).get("/status").decode(StatusReport.self)
        #expect(Set(status.sources.keys) == ["apps", "b", "c", "d"])
        #expect(Set(status.destinations.keys) == ["archive", "second", "collector"])
        #expect(status.refusedReload == nil)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a reload changes nothing when the journal cannot write its manifest`() throws {
        let daemon = try TestDaemon(configuration: Self.before, sources: Self.oldSources)
        try daemon.start()
        let client = try EventClient(daemon)
        try writeAfter(daemon)
        // A directory stands in the way of the file that would replace the manifest.
        let obstacle = daemon.path("journal/manifest.new")
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        let report = try daemon.reload()
        #expect(!report.applied)
        #expect(report.errors.first?.contains("register the destinations") == true, "\(report.errors)")
        try expectBefore(daemon, client, 0, "the manifest")
        #expect(try daemon.status().reasons.contains { $0.contains("a reload was refused") })

        try FileManager.default.removeItem(atPath: obstacle)
        #expect(try daemon.reload().applied)
        #expect(daemon.terminate() == 0)
    }
}
