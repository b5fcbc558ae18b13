/// The request methods that the API knows.
enum HTTPMethod: Sendable {
    case get, head, post, options, other
}

/// The header fields that are kept. All others are read and forgotten.
enum HTTPField: Sendable, CaseIterable {
    case host, authorization, expect, origin, contentType, contentEncoding, transferEncoding, requestedMethod

    /// In lower case.
    var name: String {
        switch self {
        case .host: "host"
        case .authorization: "authorization"
        case .expect: "expect"
        case .origin: "origin"
        case .contentType: "content-type"
        case .contentEncoding: "content-encoding"
        case .transferEncoding: "transfer-encoding"
        case .requestedMethod: "access-control-request-method"
        }
    }
}

/// The values of header fields. There are so few that a search is faster than a dictionary's hash.
struct HTTPFields: Sendable {
    private var entries: [(field: HTTPField, value: [UInt8])] = []

    subscript(field: HTTPField) -> [UInt8]? { entries.first { $0.field == field }?.value }

    /// Sets or replaces a field's value.
    /// - Returns: whether it had one.
    mutating func set(_ field: HTTPField, _ value: [UInt8]) -> Bool {
        guard let index = entries.firstIndex(where: { $0.field == field }) else {
            entries.append((field, value))
            return false
        }
        entries[index].value = value
        return true
    }

    /// Bytes of memory of the values.
    var heldBytes: Int { entries.reduce(0) { $0 + $1.value.capacity } }
}

/// A request line and its header fields.
struct HTTPRequestHead: Sendable {
    var method = HTTPMethod.other
    /// As sent.
    var target: [UInt8] = []
    var fields = HTTPFields()
    /// Fields that were sent more than once. Only the last value is kept.
    var repeated: Set<HTTPField> = []
    var version = (major: UInt8(1), minor: UInt8(1))
    /// Whether the client may send another request on this connection.
    var keepsAlive = true
    var contentLength: UInt64?
    var isChunked = false

    /// Bytes of memory that depend on what the client sends.
    var heldBytes: Int { target.capacity + fields.heldBytes }

    /// The path without the query. Of an absolute target (RFC 9112, section 3.2.2), the part behind the authority.
    var path: ArraySlice<UInt8> {
        var path = target[...]
        for scheme in ["http://", "https://"]
        where path.first != UInt8(ascii: "/") && path.prefix(scheme.utf8.count).elementsEqual(scheme.utf8) {
            path = path.dropFirst(scheme.utf8.count).drop { $0 != UInt8(ascii: "/") }
        }
        return path.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    }

    /// A field's value in lower case, without parameters such as `; charset=utf-8`.
    func token(_ field: HTTPField) -> String? {
        guard let value = fields[field] else { return nil }
        let token = value.prefix { $0 != UInt8(ascii: ";") }.map { HTTPText.lowercased($0) }
        return String(decoding: HTTPText.trimmed(token[...]), as: UTF8.self)
    }
}

/// The bytes of header fields.
enum HTTPText {
    static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    /// Whether a Host field may contain it (RFC 3986, section 3.2.2).
    static func isInHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: ":"):
            true
        default: "-._~:[]%!$&'()*+,;=".utf8.contains(byte)
        }
    }

    /// Without spaces and tabs around it.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var rest = bytes.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}
