import Control
import Foundation
import TestSupport
import Testing

/// `penstock resume`, and reloads with the same effect.
@Suite struct ResumeTests {
    private static func configuration(_ receiver: HTTPReceiver, header: String = "x") -> String {
        """
        secrets: { directory: DIRECTORY/secrets }
        routes: [ { to: [collector] } ]
        destinations:
          collector:
            http: "\(receiver.url)"
            format: ndjson
            headers: { Authorization: "Bearer \(header)" }
            retry: { initial: 1h, max: 1h }
        """
    }

    @Test(arguments: [(401, StatusReport.Destination.State.held), (503, .retrying)])
    func `a waiting destination is tried at once`(response: Int, state: StatusReport.Destination.State) throws {
        let receiver = try HTTPReceiver([.status(response)])
        let daemon = try TestDaemon(configuration: Self.configuration(receiver))
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<3))
        try eventually("the destination waits") { try daemon.status().destinations["collector"]?.state == state }
        let requests = receiver.server.requests.count

        // The destination waits again after a failed attempt.
        let again = try daemon.penstock("resume", "collector")
        #expect(again.status == 0)
        #expect(
            again.output == "collector was \(state.rawValue) and tries again now: see penstock status for the result\n")
        try eventually("the destination was tried") { receiver.server.requests.count == requests + 1 }

        try eventually("the destination waits again") {
            let destination = try daemon.status().destinations["collector"]
            return destination?.state == state && destination?.retries == 1 && destination?.nextAttemptSeconds != nil
        }
        receiver.server.change(to: [.status(200)])
        #expect(try daemon.penstock("resume", "collector", "--json").output.contains(#""resumed":true"#))
        try daemon.settle()
        #expect(Set(receiver.events(from: requests + 1).compactMap { number(in: $0) }) == [0, 1, 2])

        try eventually("the destination is up") { try daemon.status().destinations["collector"]?.state == .up }
        let up = try daemon.penstock("resume", "collector")
        #expect(up.status == 0)
        #expect(up.output == "collector is up: it does not wait for another attempt\n")
        let unknown = try daemon.penstock("resume", "colector")
        #expect(unknown.status == 1)
        #expect(unknown.errors.contains("there is no destination \"colector\"; there are: collector"))
        #expect(daemon.terminate() == 0)
        #expect(try daemon.penstock("resume", "collector").status == 2)
    }

    @Test func `a reload after a changed secret file tries the destination at once`() throws {
        let receiver = try HTTPReceiver([
            .respond { $0.headers["authorization"] == "Bearer right" ? .status(200) : .status(401) }
        ])
        let daemon = try TestDaemon(configuration: Self.configuration(receiver, header: "{{ secret.token }}"))
        try FileManager.default.createDirectory(atPath: daemon.path("secrets"), withIntermediateDirectories: false)
        try "wrong\n".write(toFile: daemon.path("secrets/token"), atomically: true, encoding: .utf8)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<3))
        try eventually("the destination is held") { try daemon.status().destinations["collector"]?.state == .held }

        // The files match the running configuration, so nothing is tried.
        #expect(try daemon.reload().applied)
        #expect(try daemon.status().destinations["collector"]?.state == .held)
        #expect(receiver.server.requests.count == 1)

        try "right\n".write(toFile: daemon.path("secrets/token"), atomically: true, encoding: .utf8)
        #expect(try daemon.reload().applied)
        try daemon.settle()
        #expect(Set(receiver.events(from: 1).compactMap { number(in: $0) }) == [0, 1, 2])
        #expect(daemon.terminate() == 0)
    }
}
