/// The page of a program.
struct CommandPage {
    let text: String

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
            Self.describe(program, &roff)
        }
        roff.section("Exit status")
        roff.prose(
            leaves.count > 1
                ? "Each command above says how it ends; where nothing is said, 0 is for done and 1 for an error, which stderr tells."
                : Self.exitStatus(program) ?? "0 is for done and 1 for an error, which stderr tells.")
        roff.item("64", "", "The command line was not understood.")
        roff.section("Files")
        roff.item("/etc/penstock/penstock.yaml", "", "The configuration, and conf.d/*.yaml beside it: penstock.yaml(5).")
        roff.item("/run/penstock/events.sock", "", "The socket that events come in through, as it is shipped.")
        roff.item("/run/penstock/control.sock", "", "The daemon's control socket, as it is shipped.")
        roff.section("See also")
        roff.prose(["penstock(1)", "penstockd(8)", "penstock.yaml(5)"].filter { !$0.hasPrefix("\(program.commandName)(") }.joined(separator: ", ") + ", systemctl(1)")
        text = roff.text
    }

    private static func describe(_ command: CommandDump.Command, _ roff: inout Roff) {
        roff.prose(command.abstract ?? "")
        let status = exitStatus(command)
        let words = (command.discussion ?? "").replacing(status.map { "Exit status: \($0)" } ?? "", with: "")
        roff.prose(words.split(separator: "\n\n").map { $0.trimming() }.filter { !$0.isEmpty }.joined(separator: "\n\n"))
        for argument in arguments(of: command) {
            let value = argument.kind == .flag ? "" : (argument.valueName ?? "value").uppercased()
            let names = (argument.names ?? []).map(\.text).joined(separator: ", ")
            var words = [argument.abstract, argument.discussion].compactMap(\.self).joined(separator: " ")
            if let values = argument.allValues, !values.isEmpty { words += " One of \(values.joined(separator: ", "))." }
            if let usual = argument.defaultValue, !words.contains("(default:") { words += " (default: \(usual))" }
            if argument.isRepeating { words += " May be given several times." }
            roff.item(names.isEmpty ? value : names, names.isEmpty ? "" : value, words)
        }
        if let status { roff.item("Exit status", "", status) }
    }

    /// What a command's help says behind "Exit status:", to the end of the paragraph.
    static func exitStatus(_ command: CommandDump.Command) -> String? {
        guard let discussion = command.discussion, let start = discussion.firstRange(of: "Exit status: ") else { return nil }
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

    /// As whatis(1) has it: no capital in front, no dot at the end.
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
