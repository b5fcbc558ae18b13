import Control
import Foundation
import Platform
import TestSupport
import Testing

@Suite struct DeduplicationTests {
    private static let configuration = """
        routes: [ { name: all, to: [out] } ]
        destinations: { out: { file: out.ndjson } }
        """

    private func sources(_ dedupe: String?) -> String {
        "{ apps: { socket: events.sock, datagram: events.dgram\(dedupe.map { ", dedupe: \($0)" } ?? "") } }"
    }

    private func daemon(_ dedupe: String?) throws -> TestDaemon {
        try TestDaemon(configuration: Self.configuration, sources: sources(dedupe))
    }

    private func send(_ numbers: Range<Int>, to daemon: TestDaemon) throws {
        let client = try EventClient(daemon)
        // Read the answers, so that the daemon goes on.
        for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 2000) {
            let part = first..<min(first + 2000, numbers.upperBound)
            try client.send(events(part))
            let sent = part.upperBound - numbers.lowerBound
            #expect(try client.acknowledgement(of: sent).lines == sent)
        }
    }

    private func duplicates(_ daemon: TestDaemon) throws -> UInt64 {
        try daemon.status().sources["apps"]?.duplicates ?? 0
    }

    @Test func `a batch that is sent again after kill -9 is acknowledged and stored once`() throws {
        let daemon = try daemon("{ window: 24h }")
        try daemon.start()
        try send(0..<5000, to: daemon)
        for _ in 0..<2 {
            daemon.kill9()
            try daemon.start()
            try send(0..<5000, to: daemon)
            #expect(try duplicates(daemon) == 5000)
            #expect(try daemon.status().sources["apps"]?.accepted == 0)
        }
        try send(4990..<5010, to: daemon)
        try daemon.settle()
        let numbers = daemon.lines("out.ndjson").compactMap { number(in: $0) }
        #expect(Set(numbers) == Set(0..<5010))
        #expect(numbers.count == 5010)
        #expect(daemon.log.contains("5,000 message ids read from the journal"))
    }

    /// The client's connection is cut before it has read its acknowledgements, so that it must send everything again.
    @Test func `a client that is interrupted anywhere loses and repeats nothing`() throws {
        let daemon = try daemon("{}")
        let count = 3000
        for round in 0..<4 {
            try daemon.start()
            let until = (round + 1) * count / 4
            try send(0..<until / 2, to: daemon)
            // Some of these are stored, and others not.
            let client = try EventClient(daemon)
            try client.send(events(until / 2..<until))
            _ = try client.acknowledgement(of: round + 1)
            daemon.kill9()
        }
        try daemon.start()
        try send(0..<count, to: daemon)
        try daemon.settle()
        let numbers = daemon.lines("out.ndjson").compactMap { number(in: $0) }
        #expect(numbers.count == count)
        #expect(Set(numbers).count == count)
    }

    @Test func `a reload turns it on for connected clients and earlier events, and off again`() throws {
        let daemon = try daemon(nil)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<100))
        _ = try client.acknowledgement(of: 100)
        func reload(_ dedupe: String?) throws {
            try daemon.write(configuration: Self.configuration, sources: sources(dedupe))
            let report = try daemon.reload()
            #expect(report.applied, "\(report.errors)")
        }
        try reload("{ window: 1h, max_memory: 1MiB }")
        try client.send(events(50..<150))
        _ = try client.acknowledgement(of: 200)
        #expect(try duplicates(daemon) == 50)
        try reload("{ window: 2h }")
        try client.send(events(100..<200))
        _ = try client.acknowledgement(of: 300)
        #expect(try duplicates(daemon) == 100)
        #expect(try daemon.status().sources["apps"]?.dedupe?.ids == 200)
        try reload(nil)
        try client.send(events(0..<10))
        _ = try client.acknowledgement(of: 310)
        #expect(try duplicates(daemon) == 100)
        #expect(try daemon.status().sources["apps"]?.dedupe == nil)
        try daemon.settle()
        #expect(daemon.lines("out.ndjson").count == 210)
    }

    @Test func `two connections and datagrams that send the same events at once store each once`() throws {
        let daemon = try daemon("{ window: 1h }")
        try daemon.start()
        let count = 5000
        let clients = try (0..<3).map { _ in try EventClient(daemon) }
        let path = daemon.path("events.dgram")
        let datagrams = WorkerThread(name: "datagrams") {
            guard let socket = try? DatagramSocket.connect(to: path) else { return }
            for number in 0..<count {
                let bytes = Array(event(number).utf8)
                while socket.transmit(bytes.span) == .bytes(0) { usleep(50) }
            }
        }
        for first in stride(from: 0, to: count, by: 100) {
            for client in clients { try client.send(events(first..<first + 100)) }
            for client in clients { #expect(try client.acknowledgement(of: first + 100).lines >= first + 100) }
        }
        datagrams.join()
        try eventually("all are counted") {
            let source = try daemon.status().sources["apps"]
            return (source?.accepted ?? 0) + (source?.duplicates ?? 0) == UInt64(4 * count)
        }
        #expect(try duplicates(daemon) == UInt64(3 * count))
        try daemon.settle()
        #expect(Set(daemon.lines("out.ndjson").compactMap { number(in: $0) }).count == count)
        #expect(daemon.lines("out.ndjson").count == count)
    }

    @Test func `a memory that is too small shortens the window, and the status and the log say so`() throws {
        let daemon = try daemon("{ window: 24h, max_memory: 1MiB }")
        try daemon.start()
        try send(0..<40_000, to: daemon)
        let dedupe = try #require(try daemon.status().sources["apps"]?.dedupe)
        #expect(dedupe.ids == 32_768)
        #expect(dedupe.capacity == 32_768)
        #expect(dedupe.forgottenEarly == 40_000 - 32_768)
        #expect(dedupe.effectiveWindowSeconds < 3600)
        #expect(dedupe.windowSeconds == 86_400)
        try eventually("the log says so") { daemon.log.contains("raise it, or shorten dedupe.window") }
        let status = try daemon.penstock("status")
        #expect(status.output.contains("the memory is full, raise dedupe.max_memory"))
        // A start reads the journal in the same order.
        daemon.kill9()
        try daemon.start()
        try send(39_000..<40_000, to: daemon)
        #expect(try duplicates(daemon) == 1000)
    }
}
