// manual: writes the man pages, from what the programs and the configuration say of themselves, so that a
// page cannot say anything else. `make install` runs it; it is not installed.
//
//     penstock --experimental-dump-help | manual penstock.1 VERSION
//     penstockd --experimental-dump-help | manual penstockd.8 VERSION
//     manual penstock.yaml.5 VERSION
//
// It reads what swift-argument-parser prints of a command (`CommandDump`), or the declarations that the
// configuration is read by, and writes man(7) to stdout. It never writes prose of its own about a key or an
// option; what belongs to a page and to no declaration stands in `CommandPage` and `ConfigurationPage`.

import Foundation

@main
struct Manual {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let page = arguments.first, let version = arguments.last else {
            return fail("usage: manual penstock.1|penstockd.8|penstock.yaml.5 VERSION")
        }
        switch page {
        case "penstock.1", "penstockd.8":
            let input = FileHandle.standardInput.readDataToEndOfFile()
            let dump = try JSONDecoder().decode(CommandDump.self, from: input)
            print(CommandPage(dump.command, section: page.hasSuffix("8") ? 8 : 1, version: version).text, terminator: "")
        case "penstock.yaml.5": print(ConfigurationPage(version: version).text, terminator: "")
        default: fail("there is no page \(page)")
        }
    }

    private static func fail(_ message: String) {
        FileHandle.standardError.write(Data("manual: \(message)\n".utf8))
        exit(64)
    }
}
