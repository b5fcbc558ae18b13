import Routing

/// `destinations.NAME.limits[]`
extension Section where Target == OutputLimit {
    static let limit = Section([
        Field(
            "path", \.pathText, .answerPath,
            "where in what is sent, after the mapping: names with dots between them, * is every member; without, all of it"),
        Field("except", \.exceptions, .texts, "names that * in the path does not stand for"),
        Field("required", \.isRequired, .flag, "whether it has to be there, and not null"),
        Field("pattern", \.pattern, .pattern, default: "none", "a regular expression (RE2) that the whole text has to match"),
        Field("not", \.refused, .texts, "texts that are refused"),
        Field("min_length", \.minimumLength, .integer(0...1 << 30), default: "none", "characters that a text has at least"),
        Field("max_length", \.maximumLength, .integer(0...1 << 30), default: "none", "characters that a text has at most"),
        Field("max_members", \.maximumMembers, .integer(0...1 << 30), default: "none", "members of an object, or items of a list, at most"),
        Field("names", \.names, .pattern, default: "none", "a regular expression (RE2) that each member's whole name has to match"),
        Field("max_size", \.maximumSize, .size(1...64 << 20), default: "none", "bytes of its JSON at most"),
        Field("oldest", \.oldest, .duration(.zero...days(36_500)), default: "any", "how long ago a time may be when it is sent"),
        Field("newest", \.newest, .duration(.zero...days(36_500)), default: "any", "how far ahead a time may be when it is sent"),
        Field("unit", \.unit, .choice, "how a time is written: rfc3339, or how many of these since 1970"),
    ])
}

extension Kind where Value == [OutputLimit] {
    static var limits: Kind {
        let section = Section<OutputLimit>.limit
        return Kind(.list(of: .section(section.describe(OutputLimit())))) { node, key, diagnostics in
            guard let items = node.items else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) has to be a list, not \(node.found)", hint: "put \"- \" before each limit")
                return nil
            }
            return items.enumerated().map { number, item in
                var limit = OutputLimit()
                let errors = diagnostics.errorCount
                let found = section.read(item, named: "limit \(number + 1) of \(quoted(key))", into: &limit, diagnostics)
                if diagnostics.errorCount == errors { check(limit, found, at: item.place, diagnostics) }
                return limit
            }
        }
    }

    /// What could never refuse an event, or never let one pass.
    private static func check(_ limit: OutputLimit, _ found: [String: YAMLEntry], at place: Place, _ diagnostics: Diagnostics) {
        func fail(_ key: String, _ message: String, hint: String) {
            diagnostics.error(at: found[key]?.place ?? place, message, hint: hint)
        }
        let bounds = found.keys.filter { !["path", "except", "unit"].contains($0) }
        if bounds.isEmpty || bounds == ["required"] && !limit.isRequired {
            fail("", "this limits nothing", hint: "add what it has to keep to: required: true, max_length, pattern, max_size …")
        }
        if let least = limit.minimumLength, let most = limit.maximumLength, least > most {
            fail("min_length", "min_length (\(least)) is above max_length (\(most)): no text can have both", hint: "make it smaller")
        }
        if found["except"] != nil, !limit.pathText.split(separator: ".").contains("*") {
            fail("except", "names are excepted where nothing stands for every name", hint: "put * into the path: properties.*")
        }
        if found["unit"] != nil, limit.oldest == nil, limit.newest == nil {
            fail("unit", "a unit of a time that has no bounds", hint: "add oldest or newest, or remove it")
        }
    }
}

extension Kind where Value == TextPattern {
    static var pattern: Kind {
        Kind(.text("a regular expression"), show: \.text) { node, key, diagnostics in
            guard let text = plainText(node, key, "a regular expression", diagnostics) else { return nil }
            do throws(FilterError) {
                return try TextPattern(text)
            } catch {
                diagnostics.error(at: node.place(of: error), error.message, hint: error.hint)
                return nil
            }
        }
    }
}
