import Foundation
import PluginTesting

/// A directory with files of systemd's journal, written by systemd-journal-remote.
struct JournalDirectory {
    static let machine = "2f2df8f0f9a14d8587b81343e6b09c02"
    static let boot = "5601567b1d114a4ca7932302309d3738"

    /// A field of an entry. In the export format, a value that is no text is preceded by its length.
    typealias Field = (name: String, value: [UInt8])

    let path: String
    private let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        path = "\(directory.path)/journal"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    /// Appends entries to a file. An entry's number is its time, in seconds.
    func append(
        _ entries: [(number: Int, fields: [Field])], file: String = "system", machine: String = machine
    ) throws {
        var export: [UInt8] = []
        for (number, fields) in entries {
            export +=
                """
                __REALTIME_TIMESTAMP=\(1_700_000_000_000_000 + number * 1_000_000)
                __MONOTONIC_TIMESTAMP=\(1000 + number * 1_000_000)
                _BOOT_ID=\(Self.boot)
                _MACHINE_ID=\(machine)

                """.utf8
            for (name, value) in fields {
                export += "\(name)\n".utf8
                for shift in stride(from: 0, to: 64, by: 8) {
                    export.append(UInt8(truncatingIfNeeded: value.count >> shift))
                }
                export += value + [10]
            }
            export.append(10)
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/lib/systemd/systemd-journal-remote")
        process.arguments = ["-o", "\(path)/\(file).journal", "-"]
        let pipe = Pipe()
        process.standardInput = pipe
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try pipe.fileHandleForWriting.write(contentsOf: Data(export))
        try pipe.fileHandleForWriting.close()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw TestProblem(description: "systemd-journal-remote: \(process.terminationStatus)")
        }
    }

    /// Appends entries with numbered messages.
    func append(_ numbers: Range<Int>, _ more: KeyValuePairs<String, String> = [:], file: String = "system") throws {
        let fields = more.map { (name: $0.key, value: Array($0.value.utf8)) }
        try append(numbers.map { ($0, [("MESSAGE", Array("m\($0)".utf8))] + fields) }, file: file)
    }

    /// As journald does when a file is full.
    func rotate(_ file: String = "system", to name: String) throws {
        try FileManager.default.moveItem(atPath: "\(path)/\(file).journal", toPath: "\(path)/\(file)@\(name).journal")
    }

    func remove(_ file: String) throws { try FileManager.default.removeItem(atPath: "\(path)/\(file).journal") }

    /// What journalctl prints of each entry.
    func cursors() throws -> [String] {
        let (status, output) = try TestCompiler.run(["journalctl", "--directory", path, "-o", "export", "--quiet"])
        guard status == 0 else { throw TestProblem(description: output) }
        return output.split(separator: "\n").filter { $0.hasPrefix("__CURSOR=") }.map { String($0.dropFirst(9)) }
    }
}
