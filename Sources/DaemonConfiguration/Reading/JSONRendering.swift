import Events
import Routing

/// Renders YAML values as JSON text, for plugin settings and the values of transforms.
///
/// Plain scalars follow YAML 1.2's core schema (`true`, `null`, `12`, `1.5`, `0x1F`; `yes` is text). Quoted scalars are
/// text. Keys keep their order.
enum JSONRendering {
    /// Returns nil if a value has no JSON form (`.inf`, or a secret where none is allowed). The error is then in
    /// `diagnostics`.
    static func render(_ node: YAMLNode, secretsAllowed: Bool, _ diagnostics: Diagnostics) -> SecretTemplate? {
        var output = SecretTemplate()
        return write(node, to: &output, secretsAllowed, diagnostics) ? output : nil
    }

    private static func write(
        _ node: YAMLNode, to output: inout SecretTemplate, _ secretsAllowed: Bool, _ diagnostics: Diagnostics
    ) -> Bool {
        var valid = true
        switch node.content {
        case .map(let entries):
            output.append("{")
            for (number, entry) in entries.enumerated() {
                output.append((number == 0 ? "" : ",") + string(entry.key) + ":")
                valid = write(entry.value, to: &output, secretsAllowed, diagnostics) && valid
            }
            output.append("}")
        case .list(let items):
            output.append("[")
            for (number, item) in items.enumerated() {
                if number > 0 { output.append(",") }
                valid = write(item, to: &output, secretsAllowed, diagnostics) && valid
            }
            output.append("]")
        case .scalar(let scalar) where scalar.isReported: return false
        case .scalar(let scalar) where scalar.isSecret:
            guard secretsAllowed else {
                diagnostics.error(at: node.place, "a secret is not allowed here", hint: SecretParsing.whereAllowed)
                return false
            }
            guard let piece = SecretParsing.reference(scalar.text, at: node.place, .json, diagnostics) else {
                return false
            }
            output.pieces.append(piece)
        case .scalar(let scalar):
            guard let text = text(scalar) else {
                diagnostics.error(
                    at: node.place, "\(quoted(scalar.text)) has no value in JSON",
                    hint: "put it in quotes if it is meant as text")
                return false
            }
            output.append(text)
        }
        return valid
    }

    private static func text(_ scalar: YAMLScalar) -> String? {
        if scalar.isNull { return "null" }
        if let boolean = scalar.boolean { return boolean ? "true" : "false" }
        if isBeyondJSON(scalar) { return nil }
        return number(scalar) ?? string(scalar.text)
    }

    /// A YAML number that JSON cannot express.
    static func isBeyondJSON(_ scalar: YAMLScalar) -> Bool {
        let bare = scalar.text.hasPrefix("-") || scalar.text.hasPrefix("+") ? scalar.text.dropFirst() : scalar.text[...]
        return scalar.isPlain
            && ([".inf", ".Inf", ".INF"].contains(bare) || [".nan", ".NaN", ".NAN"].contains(scalar.text))
    }

    /// As `number(_:)` of text; nil if the scalar is quoted.
    static func number(_ scalar: YAMLScalar) -> String? { scalar.isPlain ? number(scalar.text) : nil }

    /// As `YAMLNumber.json`.
    static func number(_ text: String) -> String? { YAMLNumber.json(text) }

    /// The value as a tree, for a node that `render` accepted.
    static func value(_ node: YAMLNode) -> JSONValue? {
        switch node.content {
        case .map(let entries):
            var members: [JSONValue.Member] = []
            for entry in entries {
                guard let value = value(entry.value) else { return nil }
                members.append(.init(entry.key, value))
            }
            return .object(members)
        case .list(let items):
            let values = items.compactMap(value)
            return values.count == items.count ? .list(values) : nil
        case .scalar(let scalar):
            if scalar.isNull { return .null }
            if let boolean = scalar.boolean { return .bool(boolean) }
            guard scalar.isPlain, let number = number(scalar.text) else { return .string(scalar.text) }
            return .number(number)
        }
    }

    /// The text as a JSON string, with quotes.
    static func string(_ text: String) -> String {
        var output: [UInt8] = []
        JSONText.appendString(text, to: &output)
        return String(decoding: output, as: UTF8.self)
    }
}
