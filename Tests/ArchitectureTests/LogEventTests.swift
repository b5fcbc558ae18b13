import Foundation
import Testing

/// Each type of log event, the catalog that explains it (`journalctl -x`), and the book's table.
@Suite struct LogEventTests {
    /// A type that conforms to `NamedEvent`, as its source declares it.
    struct Event: Sendable, CustomTestStringConvertible {
        let type: String
        let name: String
        let messageID: String
        /// The names of its fields, without `PENSTOCK_`.
        let fields: Set<String>

        var testDescription: String { type }
    }

    /// An entry of the catalog.
    struct Entry {
        var name: String
        var headers: [(key: String, value: String)] = []
        var text = ""
    }

    static let events: [Event] = {
        let files = (try? SourceTree.files(below: "Sources")) ?? []
        return files.flatMap { file -> [Event] in
            let text = file.lines.joined(separator: "\n")
            return text.matches(of: /struct (\w+): NamedEvent \{\n((?:\s.*|)(?:\n(?:[ ].*|))*)\n\}/).map { match in
                let body = String(match.2)
                return Event(
                    type: String(match.1),
                    name: body.firstMatch(of: /static let name = "(\w+)"/).map { String($0.1) } ?? "",
                    messageID: body.firstMatch(of: /static let messageID = "(\w+)"/).map { String($0.1) } ?? "",
                    fields: fields(in: body))
            }
        }
    }()

    /// The declared fields: `.destination(name)`; `owner` is a destination or a source.
    private static func fields(in body: String) -> Set<String> {
        guard let start = body.range(of: "var fields: [LogField] {"),
            let end = body.range(of: "}\n", range: start.upperBound..<body.endIndex)
        else { return ["none is declared"] }
        let text = body[start.upperBound..<end.lowerBound]
        let names = [
            "destination": "DESTINATION", "source": "SOURCE", "plugin": "PLUGIN", "reason": "REASON", "file": "FILE",
            "count": "COUNT", "limit": "LIMIT", "first": "FIRST_POSITION", "end": "END_POSITION", "batch": "BATCH",
            "replay": "REPLAY",
        ]
        var found = Set(text.matches(of: /\.(\w+)\(/).compactMap { names[String($0.1)] })
        if text.contains("owner") { found.insert("DESTINATION or SOURCE") }
        return found
    }

    /// The entries of the catalog by their message id.
    static let catalog: [String: Entry] = {
        let file = SourceTree.root.appending(path: "systemd/catalog/penstock.catalog")
        let lines = ((try? String(contentsOf: file, encoding: .utf8)) ?? "").components(separatedBy: "\n")
        var entries: [String: Entry] = [:]
        var (comment, current) = ("", "")
        var isHeader = false
        for line in lines {
            if line.hasPrefix("# ") {
                comment = String(line.dropFirst(2))
            } else if line.hasPrefix("-- ") {
                current = String(line.dropFirst(3))
                entries[current] = Entry(name: entries[current] == nil ? comment : "twice")
                isHeader = true
            } else if line.isEmpty {
                isHeader = false
                entries[current]?.text += "\n"
            } else if isHeader, let colon = line.firstIndex(of: ":") {
                entries[current]?.headers.append(
                    (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)))
            } else {
                entries[current]?.text += line + "\n"
            }
        }
        return entries
    }()

    @Test func `every event has a name and a message id of its own`() throws {
        #expect(Self.events.count > 50)
        // No type escapes the pattern above.
        let declared = try SourceTree.files(below: "Sources").flatMap(\.lines).count { $0.contains(": NamedEvent {") }
        #expect(declared == Self.events.count)
        #expect(Set(Self.events.map(\.name)).count == Self.events.count)
        #expect(Set(Self.events.map(\.messageID)).count == Self.events.count)
    }

    @Test(arguments: events) func `the catalog explains the event`(event: Event) throws {
        #expect(event.messageID.wholeMatch(of: /[0-9a-f]{32}/) != nil, "\(event.messageID)")
        let entry = try #require(Self.catalog[event.messageID], "systemd/catalog/penstock.catalog has no entry")
        // The id never changes: operators filter by it, and the catalog remembers it.
        #expect(entry.name == event.name, "the comment above the entry is the event's name")
        let headers = Dictionary(grouping: entry.headers, by: \.key)
        #expect(headers["Subject"]?.count == 1 && headers["Defined-By"]?.first?.value == "Penstock")
        let pages = entry.headers.filter { $0.key == "Documentation" }.map(\.value)
        #expect(pages.count == 2)
        for page in pages where page.hasPrefix("file:") {
            let prefix = "file:@PREFIX@/share/doc/penstock/"
            #expect(page.hasPrefix(prefix))
            let path = "Sources/penstockd/Penstock.docc/" + page.dropFirst(prefix.count)
            #expect(FileManager.default.fileExists(atPath: SourceTree.root.appending(path: path).path), "\(path)")
        }
        #expect(entry.text.contains("What to do: "))
        let used = (entry.text + (headers["Subject"]?.first?.value ?? "")).matches(of: /@PENSTOCK_(\w+)@/)
        for field in used { #expect(event.fields.contains(String(field.1)), "it has no field \(field.1)") }
    }

    @Test func `the catalog explains no event that does not exist`() {
        #expect(Set(Self.catalog.keys).subtracting(Self.events.map(\.messageID)) == [])
    }

    @Test(arguments: events) func `the book lists the event with its fields`(event: Event) throws {
        let page = try String(
            contentsOf: SourceTree.root.appending(path: "Sources/penstockd/Penstock.docc/Logs.md"), encoding: .utf8)
        let row = try #require(
            page.components(separatedBy: "\n").first { $0.hasPrefix("| `\(event.name)` | ") }, "Logs.md has no row")
        let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        try #require(cells.count == 4)
        #expect(Set(cells[2].components(separatedBy: ", ").filter { !$0.isEmpty }) == event.fields)
    }
}
