import Control
import Foundation
import Platform
import TestSupport
import Testing

/// A destination with a slow script does not affect other destinations.
@Suite struct NeighbourTests {
    /// - Parameter time: the time that each script takes for each event.
    private func daemon(scripts: Int, time: String, _ receiver: HTTPReceiver) throws -> TestDaemon {
        let names = (0..<scripts).map { "slow\($0)" }
        let destinations = names.map { name in
            """
              \(name):
                http: "\(receiver.url)/slow"
                format: ndjson
                batch: { wait: 0s }
                transforms: [ { lua: { script: "while true do end", instructions: 100000000, time: \(time), on_error: pass } } ]
            """
        }
        return try TestDaemon(
            configuration: """
                routing: { threads: 2 }
                routes: [ { to: [sound, \(names.joined(separator: ", "))] } ]
                destinations:
                  sound: { http: "\(receiver.url)/sound", format: ndjson, batch: { wait: 0s } }

                """ + destinations.joined(separator: "\n"))
    }

    private func settled(_ daemon: TestDaemon, _ name: String) throws -> UInt64 {
        try daemon.status().destinations[name]?.position ?? 0
    }

    @Test(arguments: [1, 3])
    func `a quick destination gets all its events while slow scripts are far behind`(scripts: Int) throws {
        let receiver = try HTTPReceiver()
        let daemon = try daemon(scripts: scripts, time: "1s", receiver)
        try daemon.start()
        let client = try EventClient(daemon)
        // A few events at a time, so that the quick destination needs many turns.
        for round in 0..<20 {
            try client.send(events(round * 10..<round * 10 + 10))
            #expect(try client.acknowledgement(of: round * 10 + 10).lines == round * 10 + 10)
            try daemon.settle(["sound"])
        }
        let status = try daemon.status()
        #expect(status.destinations["sound"]?.delivered == 200)
        for script in 0..<scripts {
            #expect(status.destinations["slow\(script)"]?.lagEvents ?? 0 > 0, "200 events take the script 200 s")
        }
        #expect(daemon.terminate() == 0)
    }

    /// With the widest limits, the events of one read would take an hour.
    @Test func `the daemon stops within its drain timeout while a script runs`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try daemon(scripts: 2, time: "10s", receiver)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<100))
        #expect(try client.acknowledgement(of: 100).lines == 100)
        try daemon.settle(["sound"])
        let clock = SystemClock()
        let before = clock.now()
        #expect(daemon.terminate() == 0)
        #expect(clock.now() - before < .seconds(25), "the drain takes 10 s at most, and so does a script's call")
        #expect(!daemon.log.contains("no longer waits for it"), "\(daemon.log)")

        // Events that the scripts have not routed wait in the journal.
        try daemon.start()
        let status = try daemon.status()
        #expect(status.destinations["slow0"]?.deadLettered == 0)
        #expect(status.destinations["slow0"]?.lagEvents ?? 0 > 50)
        daemon.kill9()
    }

    @Test func `a reload interrupts the script that it replaces`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try daemon(scripts: 1, time: "10s", receiver)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<50))
        #expect(try client.acknowledgement(of: 50).lines == 50)
        try daemon.settle(["sound"])
        let file = try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)
        try file.replacingOccurrences(of: "while true do end", with: "return event")
            .replacingOccurrences(of: "threads: 2", with: "threads: 3")
            .write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
        #expect(try daemon.reload().applied)
        // With the replaced script, this would take minutes.
        try daemon.settle()
        #expect(try daemon.status().destinations["slow0"]?.deadLettered == 0)
        let numbers = receiver.server.requests.filter { $0.line.contains("/slow") }
            .flatMap { $0.text.split(separator: "\n").compactMap { number(in: $0) } }
        #expect(Set(numbers) == Set(0..<50))
        #expect(daemon.terminate() == 0)
    }
}
