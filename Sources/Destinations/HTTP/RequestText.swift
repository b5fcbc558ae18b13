import Events

/// A line of a request, a URL or a header, with places for values of the event.
///
/// In the options' text each place is one NUL (`HTTPOptions.place`), which neither a URL nor a header may
/// hold otherwise.
struct RequestText: Equatable {
    /// What is wrong with an event's value for its place: the event cannot be sent.
    struct Refusal: Error {
        var reason: String
    }

    /// Bytes of a whole line; servers take about this much.
    static let longest = 8 << 10

    /// What stands before, between and behind the places.
    let literals: [String]

    init(_ text: String) {
        literals = text.split(separator: HTTPOptions.place, omittingEmptySubsequences: false).map(String.init)
    }

    var places: Int { literals.count - 1 }
    /// With something harmless in each place, for checking what is the same for every event.
    var sample: String { literals.joined(separator: "0") }

    /// As (part of) a URL: all but unreserved characters (RFC 3986, 2.3) are percent-encoded, so that a value
    /// stays what it is, one segment of a path or one value of a query.
    func url(_ values: some Collection<String>) throws(Refusal) -> String {
        var text = literals[0]
        for (value, literal) in zip(values, literals.dropFirst()) {
            let isInPath = !text.contains("?")
            if isInPath, value.isEmpty {
                throw Refusal(reason: "the event has no value for its place in the URL's path")
            }
            let start = text.endIndex
            text += Self.percentEncoded(value)
            // The one thing that encoding does not help against: a segment that means "one level up".
            let segment = (text[..<start].split(separator: "/", omittingEmptySubsequences: false).last ?? "") + text[start...]
                + literal.prefix { $0 != "/" && $0 != "?" }
            if isInPath, segment == "." || segment == ".." {
                throw Refusal(reason: "the event's value for the URL's path is \"\(value)\", which a path cannot hold")
            }
            text += literal
        }
        guard text.utf8.count <= Self.longest else {
            throw Refusal(reason: "the event's values make the URL longer than \(Self.longest) bytes")
        }
        return text
    }

    /// As a header's line, name and value.
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
        // "Name;" is libcurl's way to write a header without a value; "Name:" would remove it.
        return text.dropFirst(name.count + 1).contains { $0 != " " && $0 != "\t" } ? text : name + ";"
    }

    private var name: Substring { literals[0].prefix { $0 != ":" && $0 != ";" } }

    private static func percentEncoded(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                encoded.append(byte)
            default:
                encoded.append(UInt8(ascii: "%"))
                encoded += Array(String(byte >> 4, radix: 16, uppercase: true).utf8)
                encoded += Array(String(byte & 15, radix: 16, uppercase: true).utf8)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
