/// The man page of a program.
struct CommandPage {
    let text: String

    /// Starts the last part of a command's help: example command lines.
    private static let exampleHeading = "Examples:\n"

    init(_ program: CommandDump.Command, section: Int, version: String) {
        var roff = Roff(title: program.commandName, section: section, version: version)
        roff.section("Name")
        roff.prose("\(program.commandName) - \(Self.lowered(program.abstract ?? ""))")
        let leaves = program.leaves
        roff.section("Synopsis")
        for leaf in leaves { roff.prose(Self.synopsis(leaf)) }
        if leaves.count > 1 {
            roff.section("Commands")
            for leaf in leaves {
                roff.subsection(leaf.fullName)
                Self.describe(leaf, &roff)
            }
        } else {
            roff.section("Description")
            Self.describe(program, &roff, isWholePage: true)
        }
        roff.section("Exit status")
        roff.prose(
            leaves.count > 1
                ? "Each command above lists its exit statuses. "
                    + "Otherwise 0 means success and 1 an error, printed to stderr."
                : Self.exitStatus(program) ?? "0 means success and 1 an error, printed to stderr.")
        roff.item("64", "", "The command line was not understood.")
        roff.section("Files")
        roff.item("/etc/penstock/penstock.yaml", "", "The configuration: penstock.yaml(5).")
        roff.item("/etc/penstock/conf.d/*.yaml", "", "Further parts of the configuration.")
        roff.item("/etc/penstock/presets/*.yaml", "", "Your own presets.")
        if leaves.count > 1 {
            roff.item("/etc/penstock/tests/*.yaml", "", "Tests of the configuration, run by penstock test.")
        }
        roff.item("/run/penstock/events.sock", "", "The socket for events, in the shipped configuration.")
        roff.item("/run/penstock/control.sock", "", "The daemon's control socket, in the shipped configuration.")
        roff.item(
            "/var/lib/penstock/journal", "",
            "The journal with its cursors and dead letters, in the shipped configuration.")
        if let examples = Self.examples(program) {
            roff.section("Examples")
            roff.example(examples)
        }
        roff.section("See also")
        roff.prose(
            ["penstock(1)", "penstockd(8)", "penstock.yaml(5)"].filter { !$0.hasPrefix("\(program.commandName)(") }
                .joined(separator: ", ") + ", systemctl(1)")
        text = roff.text
    }

    /// - Parameter isWholePage: the page has no other command. Its exit status and examples are separate sections.
    private static func describe(_ command: CommandDump.Command, _ roff: inout Roff, isWholePage: Bool = false) {
        roff.prose(command.abstract ?? "")
        let status = exitStatus(command)
        let discussion = command.discussion ?? ""
        let help = String(discussion[..<(discussion.firstRange(of: exampleHeading)?.lowerBound ?? discussion.endIndex)])
        let words = status.map { help.replacing("Exit status: \($0)", with: "") } ?? help
        roff.prose(
            words.split(separator: "\n\n").map { $0.trimming() }.filter { !$0.isEmpty }.joined(separator: "\n\n"))
        for argument in arguments(of: command) {
            let value = argument.kind == .flag ? "" : (argument.valueName ?? "value").uppercased()
            let names = (argument.names ?? []).map(\.text).joined(separator: ", ")
            var words = [argument.abstract, argument.discussion].compactMap(\.self).joined(separator: " ")
            if let values = argument.allValues, !values.isEmpty {
                words += " One of \(values.joined(separator: ", "))."
            }
            if let usual = argument.defaultValue, !words.contains("(default:") { words += " (default: \(usual))" }
            if argument.isRepeating { words += " May be given several times." }
            roff.item(names.isEmpty ? value : names, names.isEmpty ? "" : value, words)
        }
        if isWholePage { return }
        if let status { roff.item("Exit status", "", status) }
        if let examples = examples(command) {
            roff.prose("Examples:")
            roff.example(examples)
        }
    }

    /// The lines of a command's help below "Examples:", without indentation.
    private static func examples(_ command: CommandDump.Command) -> String? {
        guard let discussion = command.discussion, let heading = discussion.firstRange(of: exampleHeading) else {
            return nil
        }
        return discussion[heading.upperBound...].split(separator: "\n").map { $0.trimming() }.joined(separator: "\n")
    }

    /// The part of a command's help after "Exit status:", up to the end of the paragraph.
    static func exitStatus(_ command: CommandDump.Command) -> String? {
        guard let discussion = command.discussion, let start = discussion.firstRange(of: "Exit status: ") else {
            return nil
        }
        let rest = discussion[start.upperBound...]
        return String(rest[..<(rest.firstRange(of: "\n\n")?.lowerBound ?? rest.endIndex)])
    }

    private static func arguments(of command: CommandDump.Command) -> [CommandDump.Argument] {
        (command.arguments ?? []).filter { $0.shouldDisplay && !$0.isUniversal }
    }

    private static func synopsis(_ command: CommandDump.Command) -> String {
        ([command.fullName]
            + arguments(of: command).map { argument in
                let value = (argument.valueName ?? "value").uppercased()
                let name = argument.names?.first { $0.kind == .long }?.text ?? argument.names?.first?.text ?? ""
                let text =
                    switch argument.kind {
                    case .positional: value
                    case .option: "\(name) \(value)"
                    case .flag: name
                    }
                return (argument.isOptional ? "[\(text)]" : text) + (argument.isRepeating ? " ..." : "")
            }).joined(separator: " ")
    }

    /// The form of whatis(1): no capital at the start, no full stop at the end.
    private static func lowered(_ sentence: String) -> String {
        let words = sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}

extension Substring {
    fileprivate func trimming() -> String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
