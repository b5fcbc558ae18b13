import Control
import Foundation
import Platform
import Testing

/// The limits of one client, and of all clients of one user.
@Suite struct ClientLimitTests {
    private static let toFile = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    private func daemon(_ limits: String) throws -> TestDaemon {
        let daemon = try TestDaemon(configuration: Self.toFile, sources: "{ apps: { socket: events.sock, \(limits) } }")
        try daemon.start()
        return daemon
    }

    private func count(_ limit: String, _ daemon: TestDaemon) throws -> UInt64 {
        try daemon.status().sources["apps"]?.limits[limit] ?? 0
    }

    @Test func `a client whose lines are all refused is closed with a reason and counted`() throws {
        let daemon = try daemon("max_consecutive_refusals: 100")
        let client = try EventClient(daemon)
        try client.send(event(1) + "\n" + String(repeating: "x\n", count: 100))
        let answers = try client.acknowledgement(of: 101)
        #expect(answers.lines == 101)
        #expect(answers.refusals.count == 100)
        let last = try #require(try client.line())
        #expect(last.hasPrefix(#"{"refused":{"line":102,"messageId":null,"reason":"max_consecutive_refusals","#))
        #expect(try client.line() == nil, "the connection is closed")
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number) == [1])
        #expect(try count("max_consecutive_refusals", daemon) == 1)
        let status = try daemon.status()
        try eventually("it is in status") {
            try daemon.status().reasons.contains { $0.contains("max_consecutive_refusals") }
        }
        #expect(status.sources["apps"]?.refused == 100)
        #expect(daemon.log.contains("max_consecutive_refusals took effect"))
        #expect(daemon.terminate() == 0)
    }

    @Test func `an unfinished line closes its connection after line_timeout, and no other connection`() throws {
        let daemon = try daemon("line_timeout: 300ms")
        let idle = try EventClient(daemon)
        let slow = try EventClient(daemon)
        try slow.send(event(1) + "\n" + #"{"type":"track","#)
        #expect(try slow.acknowledgement(of: 1).lines == 1)
        let last = try #require(try slow.line())
        #expect(last.contains(#""line":2,"messageId":null,"reason":"line_timeout""#))
        #expect(try slow.line() == nil)
        #expect(try count("line_timeout", daemon) == 1)
        try idle.send(event(2) + "\n")
        #expect(try idle.acknowledgement(of: 1).lines == 1)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a silent client is closed after idle_timeout`() throws {
        let daemon = try daemon("idle_timeout: 200ms")
        let client = try EventClient(daemon, acknowledgements: false)
        #expect(try client.line() == nil)
        #expect(try count("idle_timeout", daemon) == 1)
        #expect(try daemon.status().health == .healthy)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a new connection replaces the longest idle one at the user's limit`() throws {
        let daemon = try daemon("max_connections_per_uid: 3")
        let first = try EventClient(daemon)
        try first.send(event(1) + "\n")
        #expect(try first.acknowledgement(of: 1).lines == 1)
        let others = try (0..<2).map { _ in try EventClient(daemon) }
        for client in others {
            try client.send(event(2) + "\n")
            #expect(try client.acknowledgement(of: 1).lines == 1)
        }
        // A new client is turned away until another one has been idle for a second.
        try eventually("a new client is served") {
            let client = try EventClient(daemon, acknowledgements: false)
            guard (try? client.send(#"{"penstock":{"acks":true}}"# + "\n" + event(3) + "\n")) != nil else {
                return false
            }
            return (try? client.acknowledgement(of: 1).lines) == 1
        }
        #expect((try? first.line()) == nil, "the first client was idle longest")
        #expect(try count("max_connections_per_uid", daemon) >= 1)
        #expect(daemon.terminate() == 0)
    }

    @Test func `after a pause, clients that have closed their connections are served beyond the user's limit`() throws {
        let daemon = try daemon("max_connections_per_uid: 8")
        // While the daemon is stopped, the kernel accepts connections and bytes for it.
        try daemon.suspend()
        for number in 0..<16 { try EventClient(daemon, acknowledgements: false).send(event(number) + "\n") }
        daemon.signal(SIGCONT)
        try daemon.settle(accepted: 16)
        #expect(try count("max_connections_per_uid", daemon) == 0)
        #expect(daemon.terminate() == 0)
    }

    @Test func `unfinished lines may take up to max_buffered, and the clients with the most bytes are closed`() throws {
        let daemon = try daemon("max_buffered: 1MiB")
        let small = try EventClient(daemon)
        let half = event(7).count / 2
        try small.send(String(event(7).prefix(half)))
        let large = try (0..<64).map { _ in
            let client = try EventClient(daemon, acknowledgements: false)
            try client.send(#"{"type":""# + String(repeating: "x", count: 30_000))
            return client
        }
        try eventually("some clients are closed") { try count("max_buffered", daemon) >= 20 }
        try small.send(String(event(7).dropFirst(half)) + "\n")
        #expect(try small.acknowledgement(of: 1).lines == 1)
        #expect(try daemon.status().sources["apps"]?.refusedByReason["max_buffered"] ?? 0 >= 20)
        #expect(large.count == 64)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a flood of invalid lines delays other clients only briefly`() throws {
        let daemon = try daemon("max_consecutive_refusals: 1000000000")
        let flood = try (0..<20).map { _ in try EventClient(daemon, acknowledgements: false) }
        let bytes = Array(String(repeating: "x\n", count: 50_000).utf8)
        for client in flood { try client.send(bytes) }
        let sound = try EventClient(daemon)
        for number in 1...20 {
            for client in flood where number % 4 == 0 { try client.send(Array(bytes.prefix(2000))) }
            try sound.send(event(number) + "\n")
            #expect(try sound.acknowledgement(of: number).lines == number)
        }
        try eventually("all invalid lines are refused") { try daemon.status().sources["apps"]?.refused == 20 * 55_000 }
        #expect(daemon.terminate() == 0)
    }
}
