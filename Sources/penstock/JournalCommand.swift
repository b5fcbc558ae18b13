import ArgumentParser
import Daemon
import Foundation
import Journal
import Platform

struct JournalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal", abstract: "Look at a journal's files, whether a daemon has them or not.",
        discussion: "Nothing is written, and no lock is taken. Who may read the files may use these commands.",
        subcommands: [JournalVerify.self, JournalStat.self, JournalDump.self])
}

/// Which journal.
struct JournalOption: ParsableArguments {
    @Option(help: "The journal's directory. (default: that of the configuration)")
    var directory: String?

    @Option(
        name: .customLong("config"), help: "The configuration that names it. (default: \(Locations.configuration), if it exists)")
    var file: String?

    /// How each of these commands ends if the journal cannot be read.
    static let unreadable = ExitCode(2)

    /// Ends the program if the journal cannot be read.
    func read<Value>(_ body: (JournalInspector) throws -> Value) throws -> Value {
        do {
            let directory =
                try self.directory
                ?? JournalLocation.directory(configuration: file ?? Locations.configuration, isRequired: file != nil)
            return try body(try JournalInspector(directory: directory, disk: SystemDisk()))
        } catch let error where !(error is ExitCode) {
            printError("\(error)")
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
