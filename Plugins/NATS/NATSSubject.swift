import EventTemplates
import Events
import PenstockPluginKit

/// Makes the subject of each event.
struct NATSSubject {
    /// The server closes the connection after a protocol line of more than 4096 bytes, which also holds the reply's
    /// subject.
    static let maximumLength = 1024

    private let template: EventTemplate
    private let fields = EventFields()
    private var bytes: [UInt8] = []

    /// - Throws: an error that names the setting.
    init(_ text: String) throws(SinkError) {
        template = try EventTemplate(
            text, setting: "subject", fields: fields, beginning: .fixedTextOrKind)
        for byte in template.fixedTexts.joined().utf8 where !Self.isSafe(byte) && byte != UInt8(ascii: ".") {
            throw SinkError(
                "settings.subject: \"\(text)\" has a character that no subject may have: "
                    + "white space, '*', '>' or '$'; write for example events.{kind}")
        }
        if pattern.split(separator: ".", omittingEmptySubsequences: false).contains(where: \.isEmpty) {
            throw SinkError("settings.subject: \"\(text)\" has an empty token; write for example events.{kind}")
        }
    }

    /// A subject with wildcards that has all subjects of this destination: `events.*`.
    var pattern: String {
        template.text(placeholder: "*").split(separator: ".", omittingEmptySubsequences: false)
            .map { $0.contains("*") ? "*" : String($0) }.joined(separator: ".")
    }

    /// The subject of an event.
    mutating func make(_ event: Event, _ payload: Span<UInt8>) -> String {
        fields.read(payload)
        bytes.removeAll(keepingCapacity: true)
        template.append(kind: event.kindName, payload, fields, to: &bytes, isSafe: Self.isSafe)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a stream's subject has all subjects of a pattern.
    static func captures(_ subject: String, _ pattern: String) -> Bool {
        let all = subject.split(separator: ".", omittingEmptySubsequences: false)
        let tokens = pattern.split(separator: ".", omittingEmptySubsequences: false)
        for (index, token) in all.enumerated() {
            if token == ">" { return index < tokens.count }
            guard index < tokens.count, token == "*" || token == tokens[index] else { return false }
        }
        return all.count == tokens.count
    }

    /// Whether a text is a subject, with or without wildcards.
    static func isFilter(_ text: String) -> Bool {
        let tokens = text.split(separator: ".", omittingEmptySubsequences: false)
        for (index, token) in tokens.enumerated() {
            guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return false }
            let isLast = index == tokens.count - 1
            guard token == "*" || (token == ">" && isLast) || !token.contains(where: { "*>".contains($0) }) else {
                return false
            }
        }
        return true
    }

    /// Whether a subject can match both filters.
    static func overlaps(_ one: String, _ other: String) -> Bool {
        let (one, other) = (one.split(separator: "."), other.split(separator: "."))
        for (left, right) in zip(one, other) {
            if left == ">" || right == ">" { return true }
            guard left == right || left == "*" || right == "*" else { return false }
        }
        return one.count == other.count
    }

    /// Whether a byte of a field may be in a token. '$' begins subjects of the server's own.
    private static func isSafe(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != 0x7F && !".*>$".utf8.contains(byte)
    }
}
