import Foundation

extension TestDaemon {
    /// Runs a query on a database in the daemon's directory with the sqlite3 program.
    func sqlite(_ database: String, _ query: String) throws -> [String] {
        try lines(of: "sqlite3", [path(database), query])
    }

    /// Lines of a compressed file in the daemon's directory, as gzip reads them.
    func gunzip(_ name: String) throws -> [String] {
        try lines(of: "gzip", ["-dc", path(name)])
    }

    /// Lines of a zstd file in the daemon's directory, as zstd reads them.
    func unzstd(_ name: String) throws -> [String] {
        try lines(of: "zstd", ["-dcq", path(name)])
    }

    /// Runs `penstock` against this daemon.
    func penstock(_ arguments: String..., input: String = "") throws -> Program {
        // `dead-letters list` and the like take the option behind their second word.
        let socket: [String] =
            switch arguments[0] {
            case "status", "reload", "dead-letters", "replay", "resume": ["--control", control]
            case "check", "plugins": []
            case "journal": ["--config", configurationFile]
            default: ["--socket", events]
            }
        return try Program.penstock(arguments + socket, input: input)
    }

    private func lines(of program: String, _ arguments: [String]) throws -> [String] {
        let result = try Program.run(program, arguments)
        guard result.status == 0 else { throw Failure("\(program): \(result.errors)") }
        return result.output.split(separator: "\n").map(String.init)
    }
}

/// A program run to its end.
struct Program {
    var status: Int32
    var output: String
    var errors: String
    /// A signal ended it, which `status` then is.
    var wasKilled = false

    /// - Parameter program: a path, or a name that `env` finds.
    static func run(_ program: String, _ arguments: [String], input: String = "") throws -> Program {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        // Files, not pipes: nobody has to read while the program writes.
        let scratch = FileManager.default.temporaryDirectory.appendingPathComponent("penstock-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: scratch) }
        func file(_ name: String, _ contents: String = "") throws -> (URL, FileHandle) {
            let url = scratch.appendingPathComponent(name)
            try contents.write(to: url, atomically: false, encoding: .utf8)
            return (url, try FileHandle(forUpdating: url))
        }
        let (_, stdin) = try file("input", input)
        let (output, stdout) = try file("output")
        let (errors, stderr) = try file("errors")
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = stderr
        try process.run()
        process.waitUntilExit()
        return Program(
            status: process.terminationStatus,
            output: try String(contentsOf: output, encoding: .utf8),
            errors: try String(contentsOf: errors, encoding: .utf8), wasKilled: process.terminationReason == .uncaughtSignal)
    }

    /// Runs `penstock` as this build made it.
    static func penstock(_ arguments: [String], input: String = "") throws -> Program {
        try run(TestDaemon.binaries + "/penstock", arguments, input: input)
    }
}
