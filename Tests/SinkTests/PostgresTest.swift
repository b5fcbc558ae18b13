import Delivery
import Destinations
import Foundation
import PluginTesting
import Testing

/// A database for one test, and destinations that write to it.
final class PostgresTest: Sendable {
    let directory: PluginTestDirectory
    let server: PostgresServer
    let database: String

    init(on server: PostgresServer) throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libpostgres.so")
        self.server = server
        database = try server.createDatabase()
    }

    var dsn: String { server.dsn(database) }

    /// - Parameter more: settings as JSON, after a comma.
    func settings(_ more: String = "", dsn: String? = nil) -> String { #"{"dsn":"\#(dsn ?? self.dsn)"\#(more)}"# }

    func open(_ more: String = "", journal: String = "journal-1") throws -> PluginStage {
        let stage = try PluginStage("postgres", in: directory, settings: settings(more), journal: journal)
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        return stage
    }

    func rows(_ sql: String) throws -> [[String]] {
        let client = try PostgresClient(dsn)
        try client.query("SET TimeZone = 'UTC'")
        return try client.query(sql)
    }
}
