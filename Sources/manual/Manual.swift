// manual: generates the man pages, and the book's reference of the configuration, from the programs' own help and from
// the declarations of the configuration keys, so that pages and programs always agree. `make install` runs it; it is
// not installed.
//
//     penstock --experimental-dump-help | manual penstock.1 VERSION
//     penstockd --experimental-dump-help | manual penstockd.8 VERSION
//     manual penstock.yaml.5 VERSION
//     manual Configuration.md VERSION
//
// It reads the help that swift-argument-parser dumps (`CommandDump`), or the declarations of the configuration keys,
// and writes man(7) or Markdown to stdout. It contains no text about a single key or option. `CommandPage` and
// `ConfigurationPage` contain the text that belongs to a page as a whole.

import Foundation

@main
struct Manual {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let page = arguments.first, let version = arguments.last else {
            return fail("usage: manual penstock.1|penstockd.8|penstock.yaml.5|Configuration.md VERSION")
        }
        switch page {
        case "penstock.1", "penstockd.8":
            let input = FileHandle.standardInput.readDataToEndOfFile()
            let dump = try JSONDecoder().decode(CommandDump.self, from: input)
            print(
                CommandPage(dump.command, section: page.hasSuffix("8") ? 8 : 1, version: version).text, terminator: "")
        case "penstock.yaml.5":
            var page = Roff(title: "penstock.yaml", section: 5, version: version)
            page.section("Name")
            page.prose("penstock.yaml - configuration of the analytics router penstock")
            print(ConfigurationPage(page).text, terminator: "")
        case "Configuration.md":
            let page = MarkdownPage(
                title: "Configuration", summary: "Every key of the configuration. This page is generated.")
            print(ConfigurationPage(page).text, terminator: "")
        default: fail("there is no page \(page)")
        }
    }

    private static func fail(_ message: String) {
        FileHandle.standardError.write(Data("manual: \(message)\n".utf8))
        exit(64)
    }
}
