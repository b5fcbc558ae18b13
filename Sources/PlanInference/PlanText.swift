import Events

/// Writes an inferred plan as YAML, in the syntax of tracking plans.
package struct PlanText {
    /// The most bytes of all texts in `enum`: a plan's file has at most 1 MiB.
    private static let maximumChoiceBytes = 100 << 10

    private var lines: [String] = []
    private var choiceBytes = 0

    /// - Parameter heading: lines of a comment at the start of the file, without control characters.
    package static func render(_ inference: PlanInference, heading: [String]) -> String {
        var text = PlanText()
        text.lines = heading.map { "# \($0)" } + ["on_violation: flag"]
        for (kind, key) in [(EventKind.track, "events"), (.page, "pages"), (.screen, "screens")] {
            text.write(inference.names[kind], key)
        }
        for (kind, key) in [(EventKind.identify, "identify"), (.group, "group")] {
            guard let subject = inference.traits[kind] else { continue }
            let body = subject.object.properties.isEmpty && subject.object.omitted == 0 ? " {}" : ""
            text.line(0, "\(key):\(body)", Self.count(subject.events))
            text.write(subject.object, "traits", 2, of: subject.events)
        }
        return text.lines.map { $0 + "\n" }.joined()
    }

    private mutating func write(_ names: PlanInference.Names?, _ key: String) {
        guard let names else { return }
        if names.omitted > 0 {
            line(
                0,
                "# \(Self.count(names.omitted)) with other names, which cannot be in a plan, look like personal data,"
                    + " or are too many.")
            line(0, "# Such an event violates this plan.")
        }
        line(0, names.subjects.isEmpty ? "\(key): {}" : "\(key):")
        for (name, subject) in names.subjects.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let body = subject.object.properties.isEmpty && subject.object.omitted == 0 ? " {}" : ""
            line(2, "\(PlanScalar.key(name)):\(body)", Self.count(subject.events))
            write(subject.object, "properties", 4, of: subject.events)
        }
    }

    /// Writes the members of an object, and whether it has others.
    private mutating func write(_ object: ObservedObject, _ key: String, _ indent: Int, of objects: UInt64) {
        if !object.properties.isEmpty { line(indent, "\(key):") }
        for (name, property) in object.sorted {
            let share = Self.share(property.present, of: objects)
            write(property.value, PlanScalar.key(name), property.present == objects, indent + 2, share)
        }
        if object.omitted > 0 { line(indent, "additional: true", "other names: not listed") }
    }

    private mutating func write(
        _ value: ObservedValue, _ key: String, _ isRequired: Bool, _ indent: Int, _ comment: String
    ) {
        let keys = scalarKeys(value)
        let required = isRequired ? [("required", "true")] : []
        if let object = Self.described(value) {
            line(indent, "\(key):", comment)
            for (key, text) in keys + required { line(indent + 2, "\(key): \(text)") }
            write(object, "properties", indent + 2, of: object.objects)
        } else if let items = Self.describedItems(value) {
            line(indent, "\(key):", comment)
            for (key, text) in keys + required { line(indent + 2, "\(key): \(text)") }
            write(items, "items", false, indent + 2, "\(Self.count(items.count, "item"))")
        } else {
            let all = keys + required
            let isShort = all.count == 1 && all[0].0 == "type"
            let text =
                isShort ? all[0].1 : all.isEmpty ? "{}" : "{ \(all.map { "\($0): \($1)" }.joined(separator: ", ")) }"
            line(indent, "\(key): \(text)", value.shapes.count > 1 ? "\(comment); several types" : comment)
        }
    }

    /// The members to list of an object; nil: any object conforms.
    private static func described(_ value: ObservedValue) -> ObservedObject? {
        guard value.shapes == [.object], let object = value.object, !object.properties.isEmpty else { return nil }
        return object
    }

    /// The items to describe; nil: any list conforms, or the items have a plain type.
    private static func describedItems(_ value: ObservedValue) -> ObservedValue? {
        guard value.shapes == [.array], !value.hasNullItem, let items = value.items, items.shapes.count == 1 else {
            return nil
        }
        return described(items) != nil || describedItems(items) != nil || items.choices.values != nil
            ? items : nil
    }

    /// The keys of a value without its members and items.
    private mutating func scalarKeys(_ value: ObservedValue) -> [(String, String)] {
        guard value.shapes.count == 1, let shape = value.shapes.first else { return [] }
        switch shape {
        case .boolean: return [("type", "boolean")]
        case .number: return [("type", value.isInteger ? "integer" : "number")]
        case .object: return [("type", "object")]
        case .array:
            let items = value.hasNullItem || Self.describedItems(value) != nil ? nil : value.items.flatMap(Self.plain)
            return [("type", "array")] + (items.map { [("items", $0)] } ?? [])
        case .string:
            if value.isDateTime { return [("type", "date-time")] }
            guard let choices = value.choices.values else { return [("type", "string")] }
            let size = choices.reduce(0) { $0 + $1.count }
            guard choiceBytes + size <= Self.maximumChoiceBytes else { return [("type", "string")] }
            choiceBytes += size
            return [("type", "string"), ("enum", "[\(choices.map(PlanScalar.quoted).joined(separator: ", "))]")]
        }
    }

    /// The type of items that need no further keys.
    private static func plain(_ items: ObservedValue) -> String? {
        guard items.shapes.count == 1, let shape = items.shapes.first else { return nil }
        switch shape {
        case .boolean: return "boolean"
        case .number: return items.isInteger ? "integer" : "number"
        case .object: return "object"
        case .array: return "array"
        case .string: return items.isDateTime ? "date-time" : "string"
        }
    }

    private mutating func line(_ indent: Int, _ text: String, _ comment: String = "") {
        lines.append(String(repeating: " ", count: indent) + text + (comment.isEmpty ? "" : "  # \(comment)"))
    }

    private static func count(_ number: UInt64, _ noun: String = "event") -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    /// `always`, or `in 12 of 40`.
    private static func share(_ part: UInt64, of whole: UInt64) -> String {
        part == whole ? "always" : "in \(part) of \(whole)"
    }
}

/// Text from events as YAML.
enum PlanScalar {
    /// Words that YAML takes for something else than text.
    private static let words: Set<String> = [
        "true", "false", "null", "yes", "no", "on", "off", "y", "n", "none", "nan", "inf",
    ]

    /// A name as the key of a map: as it is, if it is a plain word.
    static func key(_ name: [UInt8]) -> String {
        let text = String(decoding: name, as: UTF8.self)
        let isPlain =
            name.first.map { $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z") } ?? false
            && name.last != UInt8(ascii: " ")
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: " "):
                    true
                default: false
                }
            }
        return isPlain && !words.contains(text.lowercased()) ? text : quoted(name)
    }

    /// A double-quoted scalar. Characters that are not visible, or that change the direction of the text around them,
    /// are escaped.
    static func quoted(_ text: [UInt8]) -> String {
        var output = "\""
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            default:
                if isVisible(scalar) { output.unicodeScalars.append(scalar) } else { output += escape(scalar) }
            }
        }
        return output + "\""
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        case .spaceSeparator: scalar == " "
        default: true
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        let width = scalar.value > 0xFFFF ? 8 : 4
        return (width == 8 ? "\\U" : "\\u") + String(repeating: "0", count: width - digits.count) + digits
    }
}
