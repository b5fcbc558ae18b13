/// What a program prints with `--experimental-dump-help` (swift-argument-parser's ToolInfo, version 0):
/// the part of it that a page needs.
struct CommandDump: Decodable {
    struct Command: Decodable {
        var commandName: String
        var superCommands: [String]?
        var abstract: String?
        var discussion: String?
        var subcommands: [Command]?
        var arguments: [Argument]?
        var shouldDisplay: Bool?

        /// All that do something themselves, in order.
        var leaves: [Command] {
            let shown = (subcommands ?? []).filter { $0.commandName != "help" && $0.shouldDisplay != false }
            return shown.isEmpty ? [self] : shown.flatMap(\.leaves)
        }

        /// `penstock journal verify`.
        var fullName: String { ((superCommands ?? []) + [commandName]).joined(separator: " ") }
    }

    struct Argument: Decodable {
        enum Kind: String, Decodable { case positional, option, flag }
        struct Name: Decodable {
            enum Kind: String, Decodable { case long, short, longWithSingleDash }
            var kind: Kind
            var name: String

            var text: String { (kind == .long ? "--" : "-") + name }
        }

        var kind: Kind
        var names: [Name]?
        var valueName: String?
        var defaultValue: String?
        var allValues: [String]?
        var abstract: String?
        var discussion: String?
        var isOptional: Bool
        var isRepeating: Bool
        var shouldDisplay: Bool

        /// Every command has these.
        var isUniversal: Bool { names?.contains { ["help", "version"].contains($0.name) } ?? false }
    }

    var command: Command
}
