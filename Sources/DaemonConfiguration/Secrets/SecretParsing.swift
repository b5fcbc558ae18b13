import Events
import NameSuggestion
import Routing

/// Parses `!secret NAME`, and inside a text `{{ secret.NAME }}` and, where allowed, `{{ path }}` for a field of the
/// event.
enum SecretParsing {
    static let whereAllowed = YAMLScalar.whereSecretsAre

    static func reference(
        _ name: String, at place: Place, _ encoding: SecretTemplate.Encoding, _ diagnostics: Diagnostics
    ) -> SecretTemplate.Piece? {
        guard SecretTemplate.isName(name) else {
            diagnostics.error(
                at: place, "\(quoted(name)) cannot be the name of a secret",
                hint: "a secret is a file in a directory: letters, digits, \".\", \"_\" and \"-\", no leading \".\"")
            return nil
        }
        return .secret(name: name, place: place, encoding: encoding)
    }

    /// The most bytes in a header's value or a URL as written. Servers accept about this much.
    static let longest = 8 << 10

    /// Parses one line of text: a header's value, or a URL.
    /// - Parameters:
    ///   - what: the kind of text, for messages.
    ///   - encoding: how secrets are encoded in it.
    ///   - takesValues: whether values of the event may be filled in.
    static func template(
        _ node: YAMLNode, in what: String, encoding: SecretTemplate.Encoding, takesValues: Bool,
        _ diagnostics: Diagnostics
    ) -> SecretTemplate? {
        if node.scalar?.isReported == true { return nil }
        guard let scalar = node.scalar, !scalar.isNull else {
            diagnostics.error(at: node.place, "expected text, found \(node.found)")
            return nil
        }
        guard scalar.text.utf8.count <= longest else {
            diagnostics.error(at: node.place, "\(what) of more than \(Quantity.text(longest))", hint: "make it shorter")
            return nil
        }
        if scalar.isSecret {
            return reference(scalar.text, at: node.place, encoding, diagnostics).map { SecretTemplate(pieces: [$0]) }
        }
        var valid = true
        let scalars = Array(scalar.text.unicodeScalars)
        if let control = scalars.firstIndex(where: { $0.properties.generalCategory == .control }) {
            diagnostics.error(
                at: ScalarPlaces.place(of: control, length: 1, in: node), "a control character in \(what)",
                hint: "write one line of text")
            valid = false
        }
        var template = SecretTemplate()
        var index = 0
        while index < scalars.count {
            guard scalars[index...].starts(with: ["{", "{"]) else {
                template.append(String(Character(scalars[index])))
                index += 1
                continue
            }
            guard let end = closing(scalars, from: index + 2) else {
                diagnostics.error(
                    at: ScalarPlaces.place(of: index, length: 2, in: node), "\"{{\" without \"}}\"",
                    hint: "a secret is written {{ secret.NAME }}"
                        + (takesValues ? ", a field of the event {{ properties.name }}" : ""))
                return nil
            }
            var inner = String.UnicodeScalarView()
            inner.append(contentsOf: scalars[(index + 2)..<end])
            let expression = String(inner).trimmed
            let place = ScalarPlaces.place(of: index, length: end + 2 - index, in: node)
            if expression.hasPrefix("secret.") {
                if let piece = reference(
                    String(expression.dropFirst("secret.".count)), at: place, encoding, diagnostics)
                {
                    template.pieces.append(piece)
                } else {
                    valid = false
                }
            } else if takesValues, expression.hasPrefix("batch.") {
                let name = String(expression.dropFirst("batch.".count))
                if let value = Configuration.BatchValue(rawValue: name) {
                    template.pieces.append(.batch(value, place: place))
                } else {
                    let names = Configuration.BatchValue.allCases.map(\.rawValue)
                    diagnostics.error(
                        at: place, "a batch has no value \(quoted(name))",
                        hint: NearestName.find(name, among: names).map { "did you mean batch.\($0)?" }
                            ?? "its values are \(names.joined(separator: ", "))")
                    valid = false
                }
            } else if takesValues {
                do throws(FilterError) {
                    // As in mappings, where a path begins with "$.".
                    let path = expression.hasPrefix("$.") ? String(expression.dropFirst(2)) : expression
                    _ = try FieldPath(parsing: path)
                    template.pieces.append(.value(path: path, place: place))
                } catch {
                    diagnostics.error(
                        at: place, error.message,
                        hint: error.hint ?? "write one path, or secret.NAME, between {{ and }}")
                    valid = false
                }
            } else {
                diagnostics.error(
                    at: place, "\(quoted(expression)) cannot be filled in in \(what)",
                    hint: "only {{ secret.NAME }} can be filled in")
                valid = false
            }
            index = end + 2
        }
        return valid ? template : nil
    }

    private static func closing(_ scalars: [Unicode.Scalar], from start: Int) -> Int? {
        var index = start
        while index + 1 < scalars.count {
            if scalars[index] == "}", scalars[index + 1] == "}" { return index }
            index += 1
        }
        return nil
    }
}

extension String {
    /// Without spaces at either end.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
