import Control
import Foundation
import Platform
import TestSupport
import Testing

/// The daemon keeps running after any number or time in a request or an option, and the command ends on its own.
@Suite struct ExtremeRequestTests {
    /// A daemon with dead letters, and with events in several segments.
    private func daemon() throws -> (TestDaemon, HTTPReceiver) {
        let receiver = try HTTPReceiver([.status(400)])
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive, collector] } ]
                destinations:
                  archive: { file: archive.ndjson }
                  collector: { http: "\(receiver.url)", format: ndjson, batch: { wait: 0s } }
                """, journal: "{ directory: journal, segment_size: 1MiB }")
        try daemon.start()
        let filler = String(repeating: "x", count: 20_000)
        let lines = (0..<150).map {
            #"{"type":"track","event":"E","userId":"u","messageId":"m-\#($0)","properties":{"filler":"\#(filler)"}}"#
                + "\n"
        }
        let sent = try daemon.penstock("send", "--acks", input: lines.joined())
        try #require(sent.status == 0, "\(sent.errors)")
        try daemon.settle()
        return (daemon, receiver)
    }

    @Test func `a journal without its first segment accepts a replay from any year`() throws {
        let (daemon, _) = try daemon()
        #expect(daemon.terminate() == 0)
        let segments = try FileManager.default.contentsOfDirectory(atPath: daemon.path("journal")).filter {
            $0.hasSuffix(".seg")
        }.sorted()
        try #require(segments.count > 1 && segments[0].hasPrefix("00000000000000000000"))
        try FileManager.default.removeItem(atPath: daemon.path("journal/" + segments[0]))
        try daemon.start()
        for time in ["1600-01-01", "0001-01-01", "0000-01-01T00:00:00+23:59", "1677-09-21T00:12:43Z"] {
            let counted = try daemon.penstock("replay", "archive", "--from", time, "--dry-run", "--json")
            #expect(
                counted.status == 3 && counted.errors.contains("no longer holds the first"),
                "\(time): \(counted.output)\(counted.errors)")
            let done = try daemon.penstock("replay", "archive", "--from", time, "--until", "9999-12-31", "--wait")
            #expect(done.status == 3 && done.output.contains("done: "), "\(time): \(done.output)\(done.errors)")
        }
        let later = try daemon.penstock("replay", "archive", "--from", "9999-12-31")
        #expect(later.status == 1 && later.errors.contains("end before it begins"), "\(later.errors)")
        #expect(try daemon.status().destinations["archive"]?.replay?.state == .done)
        #expect(daemon.terminate() == 0, "the daemon never restarted")
    }

    @Test func `every control request accepts or rejects every number`() throws {
        let (daemon, receiver) = try daemon()
        receiver.server.change(to: [.status(200)])
        let client = ControlClient(socket: daemon.control)
        let times = Extremes.times.prefix(12).map { "\"\($0)\"" }
        for value in Extremes.numbers + Extremes.words + times {
            let plain = value.replacingOccurrences(of: "\"", with: "")
            for name in ["from", "limit"] {
                _ = try client.get("/dead-letters", query: ["destination": "collector", name: plain])
            }
            _ = try client.get("/status", query: [plain: plain])
            for path in ["/replay", "/replay/count"] {
                for name in ["from", "until", "events_per_second"] {
                    let others = name == "from" ? "" : #""from":0,"#
                    _ = try client.post(
                        path, body: Array(#"{"destination":"collector",\#(others)"\#(name)":\#(value)}"#.utf8))
                    // An accepted replay is cancelled to make room for the next one.
                    if path == "/replay" { _ = try client.post("/replay/cancel", query: ["destination": "collector"]) }
                }
            }
            let chosen = Array(#"{"destination":"collector","chosen":["\#(plain)"]}"#.utf8)
            for path in ["/dead-letters/list", "/dead-letters/retry", "/dead-letters/drop", "/resume"] {
                _ = try client.post(
                    path, query: ["destination": "collector", "from": plain, "limit": plain], body: chosen)
            }
        }
        for (query, error) in [("from", "from=-1 is not"), ("limit", "limit=-1 is not")] {
            let answer = try client.get("/dead-letters", query: ["destination": "collector", query: "-1"])
            #expect(answer.status == 400 && answer.error.contains(error), "\(answer.error)")
        }
        for rate in [Int.min, 0, .max] {
            let body = #"{"destination":"collector","from":0,"events_per_second":\#(rate)}"#
            let answer = try client.post("/replay", body: Array(body.utf8))
            #expect(answer.status == 400 && answer.error.contains("from 1 to"), "\(answer.error)")
        }
        for (body, place) in [
            (#"{"destination":5}"#, ": the field destination is missing or has a wrong type"),
            (#"{"from":0}"#, ": the field destination is missing or has a wrong type"),
            ("{", ": it is not JSON of the right form"),
        ] {
            let answer = try client.post("/replay", body: Array(body.utf8))
            #expect(answer.status == 400 && answer.error == "the request's body does not fit /replay\(place)")
        }
        #expect(try daemon.status().destinations.count == 2)
        #expect(daemon.terminate() == 0, "the daemon never restarted")
    }

    @Test func `no header of a control request ends the daemon`() throws {
        let daemon = try TestDaemon(
            configuration: "routes: [ { to: [archive] } ]\ndestinations: { archive: { file: archive.ndjson } }")
        try daemon.start()
        let chunks = [
            "ffffffffffffffff", "7fffffffffffffff", "8000000000000000", "10000000000000000", "-1", "zz", "0",
            String(repeating: "f", count: 10_000),
        ]
        let long = String(repeating: "a", count: 10_000_000)
        let requests =
            (Extremes.integers + Extremes.fractions + Extremes.words).map {
                "POST /replay HTTP/1.1\r\nhost: x\r\ncontent-length: \($0)\r\n\r\n{}"
            }
            + chunks.map {
                "POST /replay HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n\($0)\r\nx\r\n0\r\n\r\n"
            }
            + [
                long, "GET /\(long) HTTP/1.1\r\n\r\n", "GET /status HTTP/1.1\r\nx: \(long)\r\n\r\n",
                "GET /status HTTP/99999999999999999999.9\r\n\r\n",
            ]
            + [
                "POST /replay HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n"
                    + String(repeating: "[", count: 1_000_000)
            ]
        for request in requests {
            let stream = try UnixStream(connectingTo: daemon.control)
            let bytes = Array(request.utf8)
            var done = 0
            // The daemon may close the connection after any byte.
            while done < bytes.count, try stream.wait(toWrite: true, timeout: .seconds(60)).canWrite {
                guard let count = try? stream.write(bytes.span.extracting(done..<bytes.count)), count > 0 else { break }
                done += count
            }
            stream.finishWriting()
            while try stream.wait(toWrite: false, timeout: .seconds(60)).canRead,
                let more = try? stream.read(upTo: 1 << 16), !more.isEmpty
            {}
        }
        #expect(try daemon.status().health == .healthy)
        #expect(daemon.terminate() == 0)
    }
}
