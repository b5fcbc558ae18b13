import Control
import Foundation
import TestSupport
import Testing

/// All faults of a service, in an order that a seed determines, and an account of each event's outcome.
@Suite struct FaultMixTests {
    private struct SeededRandom: RandomNumberGenerator {
        var state: UInt64

        /// SplitMix64.
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// The server's replies, and whether each reply confirms the events.
    private static func faults(_ seed: UInt64) -> [(reply: ScriptedServer.Reply, takes: Bool)] {
        var random = SeededRandom(state: seed)
        let date = DateFormatter()
        date.locale = Locale(identifier: "en_US_POSIX")
        date.timeZone = TimeZone(identifier: "UTC")
        date.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let soon = date.string(from: Date(timeIntervalSinceNow: 2))
        var script: [(reply: ScriptedServer.Reply, takes: Bool)] = [
            // Once each, because they take long.
            (.hang, false), (.trickle(milliseconds: 200), false), (.huge(1 << 30), true),
            (.status(429, headers: ["Retry-After: 1"]), false),
            (.status(429, headers: ["Retry-After: \(soon)"]), false),
        ]
        let quick: [(reply: ScriptedServer.Reply, takes: Bool)] = [
            (.reset, false), (.resetInMidResponse(), false), (.resetInMidResponse(status: 503), false),
            (.endlessHeader, false),
            (.respondThenClose, true), (.status(200), true), (.status(204), true), (.status(500, body: "oops"), false),
            (.status(503), false), (.status(413), false), (.status(400, body: "bad"), false), (.status(401), false),
            (.status(302, headers: ["Location: /in"]), false), (.status(307, headers: ["Location: /elsewhere"]), false),
        ]
        for _ in 0..<30 { script.append(quick[Int(random.next() % UInt64(quick.count))]) }
        script.shuffle(using: &random)
        return script + [(.status(200), true)]
    }

    @Test(arguments: [1, 2, 3])
    func `each event is either delivered or dead-lettered`(seed: UInt64) throws {
        let script = Self.faults(seed)
        let receiver = try HTTPReceiver(script.map(\.reply))
        let tls = FileManager.default.temporaryDirectory.appendingPathComponent("penstock-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: tls, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: tls) }
        try OpenSSLServer.makeCertificate(in: tls)
        let secure = try OpenSSLServer(certificateIn: tls)
        defer { secure.stop() }
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [faulty, untrusted, misnamed, plain] } ]
                destinations:
                  faulty:
                    http: "\(receiver.url)"
                    format: ndjson
                    timeout: 8s
                    max_redirects: 3
                    batch: { events: 8, wait: 0s }
                    in_flight: { minimum: 1, maximum: 4 }
                    retry: { initial: 5ms, max: 1s }
                  untrusted: { http: "https://127.0.0.1:\(secure.port)/", retry: { initial: 5ms, max: 50ms, give_up_after: 1s } }
                  misnamed:
                    http: "https://localhost:\(secure.port)/"
                    tls: { ca_file: "\(tls)/cert.pem" }
                    retry: { initial: 5ms, max: 50ms, give_up_after: 1s }
                  plain:
                    http: "https://127.0.0.1:\(receiver.server.port)/"
                    connect_timeout: 200ms
                    batch: { events: 4 }
                    in_flight: 8
                    retry: { initial: 5ms, max: 10ms, attempts: 2 }
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        let all = Set(0..<40)
        try client.send(events(0..<40))
        #expect(try client.acknowledgement(of: 40).lines == 40)
        // Two of the replies last until the timeout.
        try eventually("each event is settled", within: 120) {
            try daemon.status().destinations["faulty"]?.lagEvents == 0
        }
        try daemon.settle()

        var taken: [Int] = []
        for (index, request) in receiver.server.requests.enumerated() where script[min(index, script.count - 1)].takes {
            taken += request.text.split(separator: "\n").compactMap { number(in: $0) }
        }
        let status = try daemon.status()
        let refused = try letters(of: "faulty", daemon)
        #expect(Set(taken).union(refused) == all)
        #expect(Set(taken).isDisjoint(with: refused), "an accepted event is not dead-lettered")
        #expect(refused.count == Set(refused).count)
        let faulty = try #require(status.destinations["faulty"])
        #expect(faulty.state == .up && faulty.lagEvents == 0)
        #expect(faulty.delivered == UInt64(all.count - refused.count))
        #expect(faulty.deadLettered == UInt64(refused.count))
        for name in ["untrusted", "misnamed", "plain"] {
            #expect(Set(try letters(of: name, daemon)) == all)
            #expect(status.destinations[name]?.delivered == 0)
            #expect(status.destinations[name]?.deadLettered == UInt64(all.count))
        }
        #expect(daemon.terminate() == 0)
    }

    /// The numbers of the events that a destination rejected.
    private func letters(of name: String, _ daemon: TestDaemon) throws -> [Int] {
        let listed = try daemon.penstock("dead-letters", "list", name, "--json")
        #expect(listed.status == 0, "\(listed.errors)")
        return listed.output.split(separator: "\n").compactMap { number(in: $0) }
    }
}
