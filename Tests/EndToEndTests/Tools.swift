import Foundation

extension TestDaemon {
    /// Queries a database in the daemon's directory with the sqlite3 program.
    func sqlite(_ database: String, _ query: String) throws -> [String] {
        try lines(of: "sqlite3", [path(database), query])
    }

    /// The lines of a gzip file in the daemon's directory, decompressed by gzip.
    func gunzip(_ name: String) throws -> [String] {
        try lines(of: "gzip", ["-dc", path(name)])
    }

    /// The lines of a zstd file in the daemon's directory, decompressed by zstd.
    func unzstd(_ name: String) throws -> [String] {
        try lines(of: "zstd", ["-dcq", path(name)])
    }

    /// Runs `penstock` with this daemon.
    func penstock(_ arguments: String..., input: String = "") throws -> Program {
        // The option comes last, because commands such as `dead-letters list` take it after their second word.
        let socket: [String] =
            switch arguments[0] {
            case "status", "reload", "dead-letters", "diff", "replay", "resume", "tap", "open": ["--control", control]
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

/// The result of a program that has ended.
struct Program {
    var status: Int32
    var output: String
    var errors: String
    /// Whether a signal ended the program. `status` is then the signal's number.
    var wasKilled = false

    /// - Parameter program: a path, or a name that `env` finds.
    static func run(_ program: String, _ arguments: [String], input: String = "") throws -> Program {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        // Files instead of pipes, so that the program never waits for a reader.
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
            errors: try String(contentsOf: errors, encoding: .utf8),
            wasKilled: process.terminationReason == .uncaughtSignal)
    }

    /// Starts a server without this process's open files: an inherited pipe would hide its end from its reader.
    /// - Parameter command: the program's path, and its arguments.
    static func startDetached(_ command: [String]) throws -> pid_t {
        let start =
            "import subprocess, sys; n = subprocess.DEVNULL; "
            + "print(subprocess.Popen(sys.argv[1:], stdin=n, stdout=n, stderr=n).pid)"
        let started = try run("python3", ["-c", start] + command)
        guard let process = pid_t(started.output.filter(\.isNumber)) else {
            throw Failure("\(command[0]): \(started.errors)")
        }
        return process
    }

    /// Runs the `penstock` program of this build.
    static func penstock(_ arguments: [String], input: String = "") throws -> Program {
        try run(TestDaemon.binaries + "/penstock", arguments, input: input)
    }
}
