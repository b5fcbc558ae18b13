import Events
import Platform

/// A URL or a header line with placeholders for values of the event.
///
/// In the options' text a placeholder is one NUL (`HTTPOptions.place`), which neither a URL nor a header may hold
/// otherwise.
struct RequestText: Equatable {
    /// An event's value does not fit its placeholder, so the event cannot be sent.
    struct Refusal: Error {
        var reason: String
    }

    /// The most bytes in a line. Servers accept about this much.
    static let longest = 8 << 10

    /// The text before, between and after the placeholders.
    let literals: [String]

    init(_ text: String) {
        literals = text.split(separator: HTTPOptions.place, omittingEmptySubsequences: false).map(String.init)
    }

    var places: Int { literals.count - 1 }
    /// The text between all placeholders.
    var parts: [String] { literals.flatMap { $0.split(separator: HTTPOptions.batchPlace).map(String.init) } }
    /// The text with a harmless value in each placeholder, to check the parts that all events share.
    var sample: String { String(literals.joined(separator: "0").map { $0 == HTTPOptions.batchPlace ? "0" : $0 }) }

    /// The text as a URL, or as part of one. Every byte that is not unreserved (RFC 3986, section 2.3) is
    /// percent-encoded, so a value stays one path segment or one query value.
    func url(_ values: some Collection<String>) throws(Refusal) -> String {
        var text = literals[0]
        for (value, literal) in zip(values, literals.dropFirst()) {
            let isInPath = !text.contains("?")
            if isInPath, value.isEmpty {
                throw Refusal(reason: "the event has no value for its place in the URL's path")
            }
            let before = text.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
            let encoded = PercentEncoding.encode(value.utf8)
            // Encoding does not protect against a segment that means "one level up".
            let segment = before + encoded + literal.prefix { $0 != "/" && $0 != "?" }
            if isInPath, segment == "." || segment == ".." {
                throw Refusal(reason: "the event's value for the URL's path is \"\(value)\", which a path cannot hold")
            }
            text += encoded + literal
        }
        guard text.utf8.count <= Self.longest else {
            throw Refusal(reason: "the event's values make the URL longer than \(Self.longest) bytes")
        }
        return text
    }

    /// The text as a header line, with name and value.
    func header(_ values: some Collection<String>) throws(Refusal) -> String {
        var text = literals[0]
        for (value, literal) in zip(values, literals.dropFirst()) {
            guard !value.utf8.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }) else {
                throw Refusal(reason: "the event's value for the header \(name) holds a control character")
            }
            text += value + literal
        }
        guard text.utf8.count <= Self.longest else {
            throw Refusal(reason: "the event's value makes the header \(name) longer than \(Self.longest) bytes")
        }
        // libcurl writes a header without a value for "Name;". "Name:" would remove the header.
        return text.dropFirst(name.count + 1).contains { $0 != " " && $0 != "\t" } ? text : name + ";"
    }

    /// Fills in values of the batch, after those of the event, which cannot hold the placeholder. Takes them from
    /// `values`.
    static func fill(_ text: String, _ values: inout ArraySlice<String>, encoded: Bool) -> String {
        guard text.contains(HTTPOptions.batchPlace) else { return text }
        return text.reduce(into: "") { text, character in
            guard character == HTTPOptions.batchPlace, let value = values.popFirst() else {
                text.append(character)
                return
            }
            text += encoded ? PercentEncoding.encode(value.utf8) : value
        }
    }

    private var name: Substring { literals[0].prefix { $0 != ":" && $0 != ";" } }
}
