import Events
import Foundation

// Values that only destinations have.

extension Kind where Value == Configuration.Destination.Start {
    static var start: Kind {
        .text(
            "now, earliest or a time", .text("now, earliest or a time"),
            hint: "a time is written 2026-01-31T08:00:00Z",
            show: { start in
                switch start {
                case .now: "now"
                case .earliest: "earliest"
                case .time: nil
                }
            },
            convert: { text in
                switch text {
                case "now": .now
                case "earliest": .earliest
                default: Timestamp.parse(text).map { .time($0) }
                }
            })
    }
}

extension Kind where Value == String {
    static var timezone: Kind {
        .text(
            "a time zone of this machine", .text("a time zone"),
            hint: "a name below /usr/share/zoneinfo, such as Europe/Berlin",
            convert: { name in
                guard !name.hasPrefix("/"), !name.split(separator: "/").contains(".."), !name.hasSuffix("/") else {
                    return nil
                }
                if name == "UTC" { return name }
                guard let file = FileHandle(forReadingAtPath: "/usr/share/zoneinfo/" + name) else { return nil }
                defer { try? file.close() }
                // tzfile(5)
                return (try? file.read(upToCount: 4)) == Data("TZif".utf8) ? name : nil
            })
    }

    static var pluginName: Kind {
        .text(
            "the name of a plugin", .text("the name of a plugin"),
            hint:
                "write only the name: sqlite is found as sqlite.so or libsqlite.so "
                + "in plugins: { directories: […] }",
            convert: { SecretTemplate.isName($0) ? $0 : nil })
    }
}

extension Kind where Value == ClosedRange<Int> {
    /// One number, or a map of two.
    static func inFlight(_ bounds: ClosedRange<Int>) -> Kind {
        let number = Kind<Int>.integer(bounds)
        let fields: [Field<Bounds>] = [
            Field("minimum", \.minimum, number, "the lower bound; the limit starts there"),
            Field("maximum", \.maximum, number, "the upper bound"),
        ]
        return Kind(.either([number.type, .filled(.section(Section(fields).describe(Bounds())))])) {
            node, key, diagnostics in
            guard case .map = node.content else { return number.read(node, key, diagnostics).map { $0...$0 } }
            var range = Bounds()
            Section(fields).read(node, named: quoted(key), into: &range, diagnostics)
            // An invalid value was reported.
            guard let maximum = range.maximum else { return nil }
            guard range.minimum <= maximum else {
                diagnostics.error(at: node.place, "the minimum is above the maximum")
                return nil
            }
            return range.minimum...maximum
        }
    }

    private struct Bounds: Sendable {
        var minimum = 1
        var maximum: Int? = 32
    }
}

extension Kind where Value == [HeaderDraft] {
    static var headers: Kind {
        Kind(.map(of: .text("a header's value"))) { node, key, diagnostics in
            guard let entries = node.entries else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map, not \(node.found)",
                    hint: "write headers: { Name: value }")
                return nil
            }
            return entries.compactMap { entry in
                guard HeaderDraft.isName(entry.key) else {
                    diagnostics.error(
                        at: entry.place, "\(quoted(entry.key)) cannot be the name of a header",
                        hint: "letters, digits and \"-\"")
                    return nil
                }
                guard
                    !["content-length", "transfer-encoding", "content-encoding", "connection", "expect"]
                        .contains(entry.key.lowercased())
                else {
                    diagnostics.error(
                        at: entry.place, "Penstock itself sets the header \(entry.key)", hint: "remove it")
                    return nil
                }
                return SecretParsing.template(
                    entry.value, in: "a header", encoding: .plain, takesValues: true, diagnostics
                ).map { HeaderDraft(name: entry.key, value: $0) }
            }
        }
    }
}

extension Kind where Value == SecretTemplate {
    static var settings: Kind {
        Kind(.map(of: .anything)) { node, key, diagnostics in
            guard case .map = node.content else {
                guard node.isNull else {
                    diagnostics.error(at: node.place, "\(quoted(key)) must be a map, not \(node.found)")
                    return nil
                }
                return SecretTemplate(pieces: [.literal("{}")])
            }
            return JSONRendering.render(node, secretsAllowed: true, diagnostics)
        }
    }
}
