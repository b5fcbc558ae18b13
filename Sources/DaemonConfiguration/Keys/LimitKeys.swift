import Routing

/// `destinations.NAME.limits[]`
extension Section where Target == OutputLimit {
    static let limit = Section([
        Field(
            "in", \.scope, .choice,
            "what the path starts in: the event, after its mapping; or the body, the JSON around the events"),
        Field(
            "path", \.pathText, .answerPath,
            "the path in the output, after the mapping: names separated by dots, * for every member; default: the whole"
                + " output"),
        Field("except", \.exceptions, .texts, "names that * in the path does not match"),
        Field("required", \.isRequired, .flag, "whether the value must be present and not null"),
        Field(
            "pattern", \.pattern, .pattern, default: "none",
            "a regular expression (RE2) that the whole text must match"),
        Field("not", \.refused, .texts, "texts that the service rejects"),
        Field(
            "min_length", \.minimumLength, .integer(0...1 << 30), default: "none",
            "the minimum number of characters of a text"),
        Field(
            "max_length", \.maximumLength, .integer(0...1 << 30), default: "none",
            "the maximum number of characters of a text"),
        Field(
            "max_members", \.maximumMembers, .integer(0...1 << 30), default: "none",
            "the maximum number of members of an object, or of items of a list"),
        Field(
            "names", \.names, .pattern, default: "none",
            "a regular expression (RE2) that each member's whole name must match"),
        Field(
            "not_names", \.refusedNames, .pattern, default: "none",
            "a regular expression (RE2) that no member's whole name may match"),
        Field("max_size", \.maximumSize, .size(1...64 << 20), default: "none", "the maximum size of the value's JSON"),
        Field(
            "oldest", \.oldest, .duration(.zero...days(36_500)), default: "any",
            "the maximum age of a time when the event is sent"),
        Field(
            "newest", \.newest, .duration(.zero...days(36_500)), default: "any",
            "how far in the future a time may be when the event is sent"),
        Field("unit", \.unit, .choice, "the format of a time: rfc3339, or the number of these units since 1970"),
        Field(
            "mend", \.isMending, .flag,
            "whether an event that breaks the limit is changed instead of rejected: a text is cut to max_length,"
                + " members beyond max_members or with other names are removed, and a value that breaks the limit"
                + " otherwise is removed"),
    ])
}

extension Kind where Value == [OutputLimit] {
    static var limits: Kind {
        let section = Section<OutputLimit>.limit
        return Kind(.list(of: .section(section.describe(OutputLimit())))) { node, key, diagnostics in
            guard let items = node.items else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a list, not \(node.found)",
                    hint: "put \"- \" before each limit")
                return nil
            }
            return items.enumerated().map { number, item in
                var limit = OutputLimit()
                let errors = diagnostics.errorCount
                let found = section.read(
                    item, named: "limit \(number + 1) of \(quoted(key))", into: &limit, diagnostics)
                if diagnostics.errorCount == errors { check(limit, found, at: item.place, diagnostics) }
                return limit
            }
        }
    }

    /// Reports a limit that could never reject an event, or never accept one.
    private static func check(
        _ limit: OutputLimit, _ found: [String: YAMLEntry], at place: Place, _ diagnostics: Diagnostics
    ) {
        func fail(_ key: String, _ message: String, hint: String) {
            diagnostics.error(at: found[key]?.place ?? place, message, hint: hint)
        }
        let bounds = found.keys.filter { !["in", "path", "except", "unit", "mend"].contains($0) }
        if bounds.isEmpty || bounds == ["required"] && !limit.isRequired {
            fail("", "this limits nothing", hint: "add a limit: required: true, max_length, pattern, max_size …")
        }
        if let least = limit.minimumLength, let most = limit.maximumLength, least > most {
            fail(
                "min_length", "min_length (\(least)) is above max_length (\(most)): no text can have both",
                hint: "make it smaller")
        }
        if limit.isMending, bounds == ["required"] {
            fail("mend", "a missing value cannot be mended", hint: "remove mend, or set the value in the mapping")
        }
        if limit.isMending, limit.path.isEmpty, limit.maximumMembers == nil, limit.names == nil {
            fail("mend", "the whole event cannot be removed", hint: "remove mend, or add a path")
        }
        if found["except"] != nil, !limit.pathText.split(separator: ".").contains("*") {
            fail("except", "\"except\" needs * in the path", hint: "put * into the path: properties.*")
        }
        if found["unit"] != nil, limit.oldest == nil, limit.newest == nil {
            fail("unit", "\"unit\" needs oldest or newest", hint: "add one of them, or remove unit")
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
