import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import TestSupport
import Testing

/// The nats plugin while servers, connections and its own process fail.
@Suite struct NATSFailureTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.add(
            "nats.so", try Data(contentsOf: URL(fileURLWithPath: TestCompiler.built("libpenstock-nats.so"))))
    }

    private func stage(_ servers: NATSServers, _ more: String, host: NamedHost? = nil) throws -> PluginStage {
        try PluginStage("nats", in: directory, settings: #"{"servers":\#(servers.urls),\#(more)}"#, journal: "j1") {
            if let host { $0.hostProgram = host.path }
        }
    }

    private func open(_ stage: PluginStage) throws { _ = try stage.destination.open(from: Cursor(position: 0)) }

    private func openError(_ stage: PluginStage) -> String {
        let error = #expect(throws: PluginError.self) { try open(stage) }
        return error?.description ?? ""
    }

    @Test func `a server that is down at the start is an error, and the next attempt connects`() throws {
        let servers = try NATSServers(starts: false)
        let stage = try stage(servers, #""subject":"e","connect_timeout":"500ms""#)
        #expect(
            openError(stage) == "the plugin nats cannot connect: nats://127.0.0.1:\(servers.ports[0]): "
                + "No server available for connection")
        try servers.start(0)
        try NATSClient(servers).create("S", "e")
        try open(stage)
        #expect(try SinkDriver(stage: stage).deliver(0..<10).delivered.count == 10)
    }

    @Test func `a server that is killed and started again in mid-stream loses and repeats nothing`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        try client.create("S", "e")
        let stage = try stage(servers, #""subject":"e","connect_timeout":"1s","timeout":"2s""#)
        try open(stage)
        var isKilled = false
        let result = try SinkDriver(stage: stage).deliver(0..<5000) { result in
            guard result.delivered.count > 1500, !isKilled else { return }
            isKilled = true
            servers.end(0)
            try servers.start(0)
        }
        #expect(result.delivered.count == 5000 && result.retries > 0)
        let positions = try client.messages("S").compactMap(\.position)
        #expect(Set(positions) == Set(0..<5000))
        #expect(positions.count == 5000, "duplicates")
    }

    @Test func `a cluster whose leader and then another node are killed loses and repeats nothing`() throws {
        let servers = try NATSServers(3)
        let client = try NATSClient(servers)
        let stage = try stage(
            servers,
            #""subject":"e.{kind}","stream":"R3","create":true,"replicas":3,"connect_timeout":"1s","timeout":"2s""#)
        // The cluster needs a leader before it creates a stream.
        #expect(pluginEventually { (try? open(stage)) != nil })
        #expect(try client.stream("R3").replicas == 3)
        var killed: [Int] = []
        let result = try SinkDriver(stage: stage, limit: 120).deliver(0..<20_000) { result in
            let count = result.delivered.count
            guard killed.isEmpty ? count > 5000 : killed.count == 1 && count > 12_000 else { return }
            if let first = killed.first { try servers.start(first) }
            let next = try client.leader("R3")
            servers.end(next)
            killed.append(next)
        }
        #expect(killed.count == 2)
        #expect(result.delivered.count == 20_000 && result.retries > 0)
        let positions = try client.messages("R3").compactMap(\.position)
        #expect(Set(positions) == Set(0..<20_000))
        #expect(positions.count == 20_000, "duplicates")
    }

    @Test func `a server that does not answer is a retry after the timeout, and its messages are stored once`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        try client.create("S", "e")
        let stage = try stage(servers, #""subject":"e","timeout":"300ms""#)
        try open(stage)
        try servers.suspend(0)
        let batch = stage.offer([1, 2])
        #expect(pluginEventually { !stage.answers(batch).isEmpty })
        let reason = "no acknowledgement within 0.3 seconds"
        #expect(stage.outcomes(batch, count: 2) == [.retry(reason: reason), .retry(reason: reason)])
        servers.resume(0)
        #expect(try SinkDriver(stage: stage).deliver(1..<3).delivered == [1, 2])
        #expect(try client.messages("S").map(\.position) == [1, 2])
    }

    @Test func `a plugin's process that is killed in mid-stream loses and repeats nothing`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        try client.create("S", "e")
        let host = try NamedHost(in: directory)
        let stage = try stage(servers, #""subject":"e""#, host: host)
        try open(stage)
        var isKilled = false
        let result = try SinkDriver(stage: stage).deliver(0..<5000) { result in
            guard result.delivered.count > 1500, !isKilled else { return }
            isKilled = true
            kill(try host.process(), SIGKILL)
        }
        #expect(isKilled && result.delivered.count == 5000)
        let positions = try client.messages("S").compactMap(\.position)
        #expect(Set(positions) == Set(0..<5000))
        #expect(positions.count == 5000, "duplicates")
    }

    @Test func `the window bounds the messages in flight, and a window of 1 keeps the order`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        for window in [1, 7] {
            try client.create("W\(window)", "w\(window)")
            let stage = try stage(servers, #""subject":"w\#(window)","window":\#(window)"#)
            try open(stage)
            #expect(stage.destination.limits.maximumBatchEvents == window)
            #expect(try SinkDriver(stage: stage, batch: min(window, 5)).deliver(0..<200).delivered.count == 200)
            #expect(try client.messages("W\(window)").compactMap(\.position) == Array(0..<200))
            stage.destination.close()
        }
    }

    @Test func `batches in flight when the destination is closed are offered again`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        try client.create("S", "e")
        let stage = try stage(servers, #""subject":"e""#)
        try open(stage)
        try servers.suspend(0)
        let batch = stage.offer([1, 2])
        stage.destination.close()
        servers.resume(0)
        #expect(stage.answers(batch).count == 1)
        let outcomes = stage.outcomes(batch, count: 2) ?? []
        #expect(outcomes.count == 2 && !outcomes.contains(.delivered))
    }

    @Test func `a password that is wrong, and a subject that is not permitted, are named`() throws {
        let servers = try NATSServers(
            more: """
                accounts { A { jetstream: enabled, users: [
                    { user: u, password: p, permissions: { publish: { allow: ["e.ok", "$JS.API.>"] } } },
                    { user: admin, password: p } ] } }
                """)
        try NATSClient(servers, user: "admin", password: "p").create("S", "e.*")
        let wrong = try stage(servers, #""subject":"e.ok","username":"u","password":"x""#)
        #expect(openError(wrong).contains("Authorization Violation"))
        let stage = try stage(servers, #""subject":"e.{event}","username":"u","password":"p","timeout":"3s""#)
        try open(stage)
        func outcomes(_ event: String) -> [Outcome]? {
            let batch = stage.offer(PluginStage.batch([(1, .track, #"{"event":"\#(event)"}"#)]))
            _ = pluginEventually { !stage.answers(batch).isEmpty }
            return stage.outcomes(batch, count: 1)
        }
        #expect(outcomes("ok") == [.delivered])
        #expect(
            outcomes("secret") == [
                .retry(
                    reason: "no acknowledgement within 3.0 seconds; the connection's last error: "
                        + "Permissions Violation for Publish to \"e.secret\"")
            ])
    }

    @Test func `the server's certificate is checked, and its name`() throws {
        let keys = try PluginTestDirectory()
        try OpenSSLServer.makeCertificate(in: keys.path)
        let tls = #"tls { cert_file: "\#(keys.path)/cert.pem", key_file: "\#(keys.path)/key.pem" }"#
        let servers = try NATSServers(more: tls)
        try NATSClient(servers, ca: "\(keys.path)/cert.pem").create("S", "e")
        let stage = try stage(servers, #""subject":"e","tls_ca":"\#(keys.path)/cert.pem""#)
        try open(stage)
        #expect(try SinkDriver(stage: stage).deliver(0..<10).delivered.count == 10)
        #expect(openError(try self.stage(servers, #""subject":"e","tls":true"#)).contains("SSL"))
        let other = try PluginTestDirectory()
        try OpenSSLServer.makeCertificate(in: other.path, for: "DNS:elsewhere")
        let named = try NATSServers(
            more: #"tls { cert_file: "\#(other.path)/cert.pem", key_file: "\#(other.path)/key.pem" }"#)
        let error = openError(try self.stage(named, #""subject":"e","tls_ca":"\#(other.path)/cert.pem""#))
        #expect(error.contains("SSL"), "\(error)")
    }
}
