import Control
import Foundation
import Platform
import Testing

/// Many clients of different kinds.
@Suite struct ClientTests {
    private static let toFile = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    @Test func `a thousand simultaneous clients are all served`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let clients = try (0..<1000).map { _ in try EventClient(daemon) }
        for (index, client) in clients.enumerated() { try client.send(event(index) + "\n") }
        for client in clients { #expect(try client.acknowledgement(of: 1).lines == 1) }
        #expect(try daemon.status().sources["apps"]?.connections == 1000)
        // All clients send again on the same connections.
        for (index, client) in clients.enumerated() { try client.send(event(1000 + index) + "\n") }
        for client in clients { #expect(try client.acknowledgement(of: 2).lines == 2) }
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number).sorted() == Array(0..<2000))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a silent client does not affect other clients`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        var silent = try (0..<50).map { _ in try EventClient(daemon, acknowledgements: false) }
        try eventually("the silent clients are connected") { try daemon.status().sources["apps"]?.connections == 50 }
        let client = try EventClient(daemon)
        try client.send(event(1) + "\n")
        #expect(try client.acknowledgement(of: 1).lines == 1)
        silent = []
        try eventually("the silent clients are disconnected") { try daemon.status().sources["apps"]?.connections == 1 }
        let source = try daemon.status().sources["apps"]
        #expect(source?.accepted == 1)
        #expect(source?.refused == 0)
        #expect(silent.isEmpty)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a client that has finished writing still gets its answers`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let client = try EventClient(daemon)
        // The last line has no line feed, but it is complete.
        try client.send(events(0..<100) + event(100))
        client.finish()
        #expect(try client.acknowledgement(of: 101).lines == 101)
        #expect(try client.line() == nil, "the daemon closes the connection, too")
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0...100))
        try eventually("the client is disconnected") { try daemon.status().sources["apps"]?.connections == 0 }
        #expect(daemon.terminate() == 0)
    }

    @Test func `events are accepted from a client that sends and disconnects at once`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        for index in 0..<100 {
            let client = try EventClient(daemon, acknowledgements: index % 2 == 0)
            try client.send(events(index * 10..<index * 10 + 10))
        }
        try daemon.settle(accepted: 1000)
        #expect(daemon.lines("archive.ndjson").compactMap(number).sorted() == Array(0..<1000))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a client that never reads its answers harms only itself`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        var deaf = try (0..<4).map { _ in try EventClient(daemon) }
        // The daemon closes them after too many consecutive refusals.
        for client in deaf { try? client.sendUntilBlocked("x") }
        deaf = []
        try eventually("the clients are disconnected") { try daemon.status().sources["apps"]?.connections == 0 }
        #expect(deaf.isEmpty)
        // Enough clients for every event loop.
        let clients = try (0..<8).map { _ in try EventClient(daemon) }
        for (index, client) in clients.enumerated() {
            try client.send(event(index) + "\n")
            #expect(try client.acknowledgement(of: 1).lines == 1)
        }
        #expect(daemon.terminate() == 0)
    }

    @Test func `the number of connections is limited`() throws {
        let daemon = try TestDaemon(
            configuration: Self.toFile, sources: "{ apps: { socket: events.sock, max_connections: 5 } }")
        try daemon.start()
        let clients = try (0..<5).map { _ in try EventClient(daemon) }
        for client in clients {
            try client.send(event(1) + "\n")
            #expect(try client.acknowledgement(of: 1).lines == 1)
        }
        let oneTooMany = try EventClient(daemon, acknowledgements: false)
        #expect((try? oneTooMany.line()) == nil, "the connection is closed")
        #expect(try daemon.status().sources["apps"]?.refusedByReason["not_allowed"] == 1)
        for client in clients {
            try client.send(event(2) + "\n")
            #expect(try client.acknowledgement(of: 2).lines == 2)
        }
        #expect(daemon.terminate() == 0)
    }

    @Test func `only allowed users may send events`() throws {
        let daemon = try TestDaemon(
            configuration: Self.toFile,
            sources: "{ apps: { socket: events.sock }, others: { socket: others.sock, allow: { users: [nobody] } } }")
        try daemon.start()
        let client = try EventClient(daemon, socket: daemon.path("others.sock"), acknowledgements: false)
        try? client.send(event(1) + "\n")
        #expect((try? client.line()) == nil, "the connection is closed")
        try eventually("it is counted") { try daemon.status().sources["others"]?.refusedByReason["not_allowed"] == 1 }
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson") == [])
        #expect(daemon.terminate() == 0)
    }
}
