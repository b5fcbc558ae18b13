import CPostgres
import Foundation
import PluginTesting
import Synchronization

/// A PostgreSQL server of a test, in a temporary directory, on a unix socket and a free port. It ends with this object,
/// and in any case with the process of the tests.
final class PostgresServer: Sendable {
    /// For the tests that do not harm it. It is never released.
    static let shared = Mutex<PostgresServer?>(nil)

    /// Holds the socket.
    let directory: String
    let port: Int
    private let guardian = Mutex<Guardian?>(nil)
    private let databases = Mutex(0)

    private struct Guardian: Sendable {
        let process: Process
        let input: Pipe
        let server: pid_t
    }

    /// The user that runs the server, which refuses to run as root.
    private static let asUser =
        geteuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []

    static func program(_ name: String) throws -> String {
        let versions = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")
        guard let newest = versions.compactMap(Int.init).max() else {
            throw TestProblem(description: "install the Debian package postgresql")
        }
        return "/usr/lib/postgresql/\(newest)/bin/\(name)"
    }

    static func sharedServer() throws -> PostgresServer {
        try shared.withLock { shared in
            if let shared { return shared }
            let server = try PostgresServer()
            try server.start()
            shared = server
            return server
        }
    }

    /// Does not start it.
    init() throws {
        directory = try Self.makeDirectory()
        port = Int(try freePort())
        _ = try Self.command(
            Self.asUser + [
                try Self.program("initdb"), "-D", "\(directory)/data", "-U", "postgres", "-A", "trust", "--no-sync",
                "-E", "UTF8", "--locale=C.UTF-8",
            ])
        // One role has a password.
        let rules = "\(directory)/data/pg_hba.conf"
        let trust = try String(contentsOfFile: rules, encoding: .utf8)
        try ("host all secured all scram-sha-256\n" + trust).write(toFile: rules, atomically: false, encoding: .utf8)
    }

    deinit {
        stop(SIGQUIT)
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Starts it, and waits until it accepts connections.
    func start() throws {
        for _ in 0..<50 {
            let next = try spawn()
            guardian.withLock { $0 = next }
            let accepts = pluginEventually {
                Self.hasEnded(next.server) || (try? PostgresClient(dsn("postgres"))) != nil
            }
            if accepts, !Self.hasEnded(next.server) { return }
            // After kill -9, processes of the last server may still use its memory.
            stop(SIGQUIT)
        }
        let log = try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)
        throw TestProblem(description: "the server does not start: \(log ?? "no log")")
    }

    /// Sends a signal to the server, and waits until it has ended. Without effect if it doesn't run.
    func stop(_ signal: Int32) {
        guard let running = guardian.withLock({ $0.take() }) else { return }
        kill(running.server, signal)
        // A line, not only the end of the input: the directory is kept.
        try? running.input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
        try? running.input.fileHandleForWriting.close()
        running.process.waitUntilExit()
    }

    /// A connection string for the unix socket.
    func dsn(_ database: String) -> String { "host=\(directory) port=\(port) user=postgres dbname=\(database)" }

    /// Creates a database. Returns its name.
    func createDatabase() throws -> String {
        let name = databases.withLock { number in
            number += 1
            return "test\(number)"
        }
        try PostgresClient(dsn("postgres")).query("CREATE DATABASE \(name)")
        return name
    }

    /// The server's processes for the connections of plugins to the client's database.
    static func backends(_ client: PostgresClient) throws -> [pid_t] {
        try client.query(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'penstock' AND datname = current_database()"
        )
        .compactMap { pid_t($0[0]) }
    }

    /// A process that starts the server, and ends it when the tests close the pipe, or end.
    private func spawn() throws -> Guardian {
        let script = """
            "$@" >>'\(directory)/log' 2>&1 </dev/null & echo $!
            read -r _; end=$?; kill -QUIT $! 2>/dev/null; wait
            [ $end = 0 ] || rm -rf '\(directory)'
            """
        let process = Process()
        // Not sh: dash waits for SIGCHLD, which Foundation blocks in its children.
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments =
            ["-c", script, "guardian"] + Self.asUser + [
                try Self.program("postgres"), "-D", "\(directory)/data", "-k", directory, "-h", "127.0.0.1",
                "-p", "\(port)", "-F", "-c", "max_connections=200",
            ]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var text = Data()
        while text.last != UInt8(ascii: "\n") {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { break }
            text += more
        }
        let number = String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let server = pid_t(number) else { throw TestProblem(description: "the server's process: \(number)") }
        return Guardian(process: process, input: input, server: server)
    }

    private static func makeDirectory() throws -> String {
        // The path of a socket has at most 107 bytes.
        let output = try command(asUser + ["mktemp", "-d", "/tmp/penstock-postgres-XXXXXXXX"])
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func command(_ words: [String]) throws -> String {
        let (status, output) = try TestCompiler.run(words)
        guard status == 0 else { throw TestProblem(description: "\(words.joined(separator: " ")): \(output)") }
        return output
    }

    private static func hasEnded(_ process: pid_t) -> Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return true }
        return status.split(separator: ")").last?.hasPrefix(" Z") == true
    }
}

/// A connection of a test.
@safe final class PostgresClient {
    private let handle: OpaquePointer

    init(_ dsn: String) throws {
        guard let handle = unsafe PQconnectdb(dsn) else { throw TestProblem(description: "out of memory") }
        unsafe self.handle = handle
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            throw TestProblem(description: unsafe String(cString: PQerrorMessage(handle)))
        }
    }

    deinit { unsafe PQfinish(handle) }

    /// The rows that a query returns. NULL is "-".
    @discardableResult
    func query(_ sql: String) throws -> [[String]] {
        let result = unsafe PQexec(handle, sql)
        defer { unsafe PQclear(result) }
        let status = unsafe PQresultStatus(result)
        guard status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK else {
            throw TestProblem(description: unsafe String(cString: PQerrorMessage(handle)))
        }
        let columns = unsafe PQnfields(result)
        return unsafe (0..<PQntuples(result)).map { row in
            (0..<columns).map { column in
                unsafe PQgetisnull(result, row, column) == 1 ? "-" : String(cString: PQgetvalue(result, row, column))
            }
        }
    }
}
