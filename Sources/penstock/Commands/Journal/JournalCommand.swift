import ArgumentParser
import Assembly
import Foundation
import Journal
import Platform

struct JournalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal", abstract: "Verify or read a journal's files, with or without a running daemon.",
        discussion: """
            These commands write nothing and take no lock. They only need permission to read the files.
            """,
        subcommands: [JournalVerify.self, JournalStat.self, JournalDump.self])
}

/// Selects the journal.
struct JournalOption: ParsableArguments {
    @Option(
        help: "The journal's directory. (default: journal.directory of the configuration)", completion: .directory)
    var directory: String?

    @Option(
        name: .customLong("config"),
        help: "The configuration file that names the directory. (default: \(Locations.configuration), if it exists)",
        completion: .configurationFile)
    var file: String?

    /// The exit status of each of these commands if the journal cannot be read.
    static let unreadable = ExitCode(2)

    /// Opens the journal and calls `body`.
    /// - Throws: exit status 2 if the journal cannot be read, after printing the reason to stderr.
    func read<Value>(_ body: (JournalInspector) throws -> Value) throws -> Value {
        do {
            let directory =
                try self.directory
                ?? JournalLocation.directory(configuration: file ?? Locations.configuration, isRequired: file != nil)
            return try body(try JournalInspector(directory: directory, disk: SystemDisk()))
        } catch let error where !(error is ExitCode) {
            printError(error)
            throw Self.unreadable
        }
    }
}

extension JournalInspection {
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
