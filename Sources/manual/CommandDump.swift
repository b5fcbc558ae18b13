/// The output of a program's `--experimental-dump-help` (swift-argument-parser's ToolInfo, version 0), reduced to what
/// a man page needs.
struct CommandDump: Decodable {
    struct Command: Decodable {
        var commandName: String
        var superCommands: [String]?
        var abstract: String?
        var discussion: String?
        var subcommands: [Command]?
        var arguments: [Argument]?
        var shouldDisplay: Bool?

        /// The commands without subcommands, in order.
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

        /// Whether every command has this argument: `--help` or `--version`.
        var isUniversal: Bool { names?.contains { ["help", "version"].contains($0.name) } ?? false }
    }

    var command: Command
}
