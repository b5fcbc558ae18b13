import Control
import Foundation
import TestSupport
import Testing

/// Debian's influxd (InfluxDB 1) with its own directory and ports, and one user, who must give a password.
final class InfluxDBServer {
    static let program = "/usr/bin/influxd"
    static let isInstalled = FileManager.default.isExecutableFile(atPath: program)

    let port: UInt16
    private let directory: String
    private let process: pid_t
    private let password: String

    init(password: String, database: String) throws {
        self.password = password
        directory = "/tmp/penstock-influxdb-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let (first, port) = try ScriptedServer.listenAtFreePort()
        let (second, otherPort) = try ScriptedServer.listenAtFreePort()
        close(first)
        close(second)
        self.port = port
        process = try Self.start(in: directory, port, otherPort)
        // With authentication, the first user can be created without a password.
        try query("CREATE USER ada WITH PASSWORD '\(password)' WITH ALL PRIVILEGES")
        try query("CREATE DATABASE \(database)")
    }

    deinit {
        kill(process, SIGKILL)
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static func start(in directory: String, _ port: UInt16, _ otherPort: UInt16) throws -> pid_t {
        try """
        reporting-disabled = true
        bind-address = "127.0.0.1:\(otherPort)"
        [meta]
        dir = "\(directory)/meta"
        [data]
        dir = "\(directory)/data"
        wal-dir = "\(directory)/wal"
        [http]
        bind-address = "127.0.0.1:\(port)"
        auth-enabled = true
        [monitor]
        store-enabled = false
        """.write(toFile: directory + "/influxdb.conf", atomically: true, encoding: .utf8)
        return try Program.startDetached([program, "-config", directory + "/influxdb.conf"])
    }

    /// The address with the user, whose password is the secret `key`.
    var address: String { "http://ada:{{ secret.key }}@127.0.0.1:\(port)" }

    /// - Returns: the lines of the response, as CSV without the names of the columns.
    @discardableResult
    func query(_ text: String, in database: String = "") throws -> [String] {
        let result = try Program.run(
            "curl",
            [
                // Retries until the server is up, which takes a second.
                "-sSf", "--retry", "60", "--retry-connrefused", "--retry-delay", "1", "--noproxy", "*",
                "-u", "ada:\(password)", "-H", "Accept: application/csv", "--data-urlencode", "q@-",
                "http://127.0.0.1:\(port)/query?db=\(database)&epoch=ns",
            ], input: text)
        guard result.status == 0 else { throw Failure("InfluxDB: \(result.errors)") }
        return result.output.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("name,tags,") }
    }
}

/// The preset influxdb with a real server.
extension PresetDeliveryTests {
    private static let sameTime = #","timestamp":"2026-01-31T07:59:59.5Z""#

    private func influxDB(_ server: InfluxDBServer, _ keys: String = "") throws -> TestDaemon {
        try daemon("influxdb", server.address, "bucket: shop, api: v1, in_flight: 1\(keys)")
    }

    @Test(.enabled(if: InfluxDBServer.isInstalled, "influxdb is not installed"))
    func `InfluxDB stores each event as a point, and only a value of another type becomes a dead letter`() throws {
        let server = try InfluxDBServer(password: "s3/cret", database: "shop")
        let daemon = try influxDB(server)
        let letters = try run(
            daemon,
            [
                track("Order", "m1", Self.sameTime + #","properties":{"total":19.90,"gift":true}"#),
                track("Order", "m2", Self.sameTime + #","properties":{"total":20}"#),
                track("Order", "m3", Self.sameTime + #","properties":{"total":"many"}"#),
                track("Order", "m4", Self.sameTime),
                track("Order", "m5", #","timestamp":"9000-01-01T00:00:00Z""#),
                #"{"type":"identify","messageId":"k1","userId":"7","traits":{"plan":"pro"}}"#,
                #"{"type":"page","name":"Home","messageId":"k2","userId":"7"}"#,
                #"{"type":"screen","name":"Cart","messageId":"k3","userId":"7"}"#,
                #"{"type":"group","messageId":"k4","userId":"7","groupId":"g"}"#,
                #"{"type":"alias","messageId":"k5","userId":"7","previousId":"8"}"#,
            ])
        #expect(letters.sorted() == ["m3: HTTP 400", "m5: not sent: it is a value that the service rejects"])
        // Events at the same time are points of their own: the last six digits are those of the message id.
        #expect(
            try server.query(
                #"SELECT message_id, "properties.total", "properties.gift" FROM "Order""#, in: "shop") == [
                    "Order,,1769846399500029514,m1,19.9,true", "Order,,1769846399500239612,m4,,",
                    "Order,,1769846399500291289,m2,20,",
                ])
        for (kind, field, value) in [
            ("identify", "traits.plan", "pro"), ("page", "name", "Home"), ("screen", "name", "Cart"),
            ("group", "group_id", "g"), ("alias", "previous_id", "8"),
        ] {
            let lines = try server.query(#"SELECT user_id, "\#(field)" FROM "\#(kind)""#, in: "shop")
            #expect(lines.count == 1 && lines.allSatisfy { $0.hasSuffix(",7,\(value)") }, "\(kind): \(lines)")
        }
        #expect(daemon.terminate() == 0)
    }

    @Test(.enabled(if: InfluxDBServer.isInstalled, "influxdb is not installed"))
    func `no event can forge a line, a tag or a field in InfluxDB`() throws {
        let server = try InfluxDBServer(password: "s3/cret", database: "shop")
        let daemon = try influxDB(server)
        let letters = try run(
            daemon,
            [
                track(
                    #"a\\,event=forged"#, "h1", user: #"u\" 1,\\"#,
                    #","properties":{"note":"\" 1\nforged x=1\r\\"},"context":{"os":{"name":"iOS\\"}}"#),
                track("#comment", "h2"),
                track(#"x y=1 1\nforged y=1"#, "h3", #","properties":{"a=1,b c\\":"\\","time":1}"#),
            ])
        #expect(letters == [])
        #expect(
            try server.query("SHOW MEASUREMENTS", in: "shop") == [
                "measurements,,-comment", #"measurements,,"a/,event=forged""#,
                "measurements,,x y=1 1 forged y=1",
            ])
        #expect(
            try server.query("SHOW TAG KEYS", in: "shop") == [
                "-comment,,event", #""a/,event=forged",,context.os.name"#, #""a/,event=forged",,event"#,
                "x y=1 1 forged y=1,,event",
            ])
        #expect(
            try server.query(#"SHOW FIELD KEYS FROM "x y=1 1 forged y=1""#, in: "shop") == [
                "x y=1 1 forged y=1,,message_id,string", #"x y=1 1 forged y=1,,"properties.a=1,b c/",string"#,
                "x y=1 1 forged y=1,,properties.time,float", "x y=1 1 forged y=1,,type,string",
                "x y=1 1 forged y=1,,user_id,string",
            ])
        let stored = try server.query(
            #"SELECT "event", "context.os.name", user_id, "properties.note" FROM "a/,event=forged""#, in: "shop")
        #expect(stored.count == 1)
        #expect(
            stored.first?.hasSuffix(#","a/,event=forged",iOS/,"u"" 1,\",""" 1\nforged x=1\r\""#) == true, "\(stored)")
        #expect(daemon.terminate() == 0)
    }

    @Test(.enabled(if: InfluxDBServer.isInstalled, "influxdb is not installed"))
    func `a missing InfluxDB database holds the events until it exists`() throws {
        let server = try InfluxDBServer(password: "s3/cret", database: "other")
        let daemon = try influxDB(server)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(track("A", "m1") + "\n")
        try eventually("the destination is held") { try daemon.status().destinations["product"]?.state == .held }
        #expect(try daemon.status().destinations["product"]?.deadLettered == 0)
        try server.query("CREATE DATABASE shop")
        #expect(try daemon.penstock("resume", "product").status == 0)
        try daemon.settle()
        #expect(try server.query(#"SELECT count(message_id) FROM "A""#, in: "shop") == ["A,,0,1"])
        #expect(daemon.terminate() == 0)
    }
}
