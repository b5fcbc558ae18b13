import Control
import Foundation
import TestSupport
import Testing

/// The log has no secret and no content of an event, whatever a service or a client does.
@Suite struct LogSecrecyTests {
    private static let secret = "sk-verysecret/+=%41"
    private static let content = "CONTENT-OF-AN-EVENT"

    /// Repeats the request in the answer, as a debugging proxy does.
    private static func echo(_ status: Int) -> ScriptedServer.Reply {
        .respond { request in
            .status(
                status, headers: ["X-Echo: \(request.headers["authorization"] ?? "")"],
                body: "\(request.line) \(request.headers) \(request.text)")
        }
    }

    /// A line that a client has no reason to send.
    private static let hostile = [
        #"{"type":"track","event":"CONTENT-OF-AN-EVENT","userId":"CONTENT-OF-AN-EVENT","messageId":1}"#,
        #"{"type":"CONTENT-OF-AN-EVENT"}"#, #"{"CONTENT-OF-AN-EVENT":"#, "CONTENT-OF-AN-EVENT",
        #"{"type":"track","event":"\ud800 CONTENT-OF-AN-EVENT","userId":"u"}"#,
        #"{"type":"track","userId":"u","anonymousId":"CONTENT-OF-AN-EVENT"}"#,
        "POST /v1/batch HTTP/1.1", "\u{1B}]0;CONTENT-OF-AN-EVENT\u{7}",
        #"{"type":"track","event":"CONTENT-OF-AN-EVENT","userId":"u","properties":{"big":""#
            + String(repeating: "CONTENT-OF-AN-EVENT", count: 4000) + #""}}"#,
    ]

    @Test func `no secret and no event content is logged, whatever services and clients do`() throws {
        let statuses = [500, 401, 400, 413, 302]
        let servers = try statuses.map { try ScriptedServer([Self.echo($0)]) }
        defer { for server in servers { server.stop() } }
        let raw = try ScriptedServer([.respond { .raw("HTTP/1.1 \($0.headers["authorization"] ?? "") \($0.text)") }])
        defer { raw.stop() }
        let all = zip(statuses.map { "status_\($0)" } + ["raw"], servers + [raw])
        let destinations = all.map { name, server in
            """
              \(name):
                http: \(server.url)/{{ secret.token }}
                headers: { Authorization: "Bearer {{ secret.token }}", X-Key: !secret token }
                batch: { events: 5, wait: 10ms }
                retry: { initial: 10ms, max: 50ms }
            """
        }
        let daemon = try TestDaemon(
            configuration: """
                secrets: { directory: DIRECTORY/secrets }
                routes: [ { to: [\(all.map(\.0).joined(separator: ", ")), by_name] } ]
                destinations:
                \(destinations.joined(separator: "\n"))
                  by_name: { file: "files/{{ event }}.ndjson", new_files: 2 }
                """,
            sources: """
                { apps: { socket: events.sock, datagram: events.dgram, max_event_size: 32KiB, max_consecutive_refusals: 5,
                          rate_limit: { per: uid, events_per_second: 200, burst: 200 } } }
                """)
        try FileManager.default.createDirectory(atPath: daemon.path("secrets"), withIntermediateDirectories: false)
        try Self.secret.write(toFile: daemon.path("secrets/token"), atomically: true, encoding: .utf8)
        try daemon.start()
        for line in Self.hostile {
            _ = try daemon.penstock("send", "--acks", input: line + "\n")
            _ = try daemon.penstock("send", input: String(repeating: line + "\n", count: 10))
        }
        for number in 0..<20 {
            let text = event(
                number, name: "\(Self.content) \(number)", fields: #","properties":{"x":"\#(Self.content)"}"#)
            _ = try daemon.penstock("send", "--acks", input: text + "\n")
        }
        // Each destination has failed, and each failure is logged.
        try eventually("all destinations have failed") {
            let status = try daemon.status()
            return all.allSatisfy { status.destinations[$0.0]?.lastError != nil } && raw.requests.count > 1
        }
        try "secrets: { directory: DIRECTORY/secrets }\nroutes: [ { to: [missing] } ]".write(
            toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
        #expect(try !daemon.reload().applied)
        #expect(daemon.terminate() == 0)
        let log = daemon.log
        for (name, _) in all { #expect(log.contains("destination \(name)"), "\(name) failed: \(log)") }
        #expect(!log.contains("verysecret"), "\(log)")
        #expect(!log.contains(Self.content), "\(log)")
    }
}
