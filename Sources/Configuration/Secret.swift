import Platform

/// A secret's value under its name. Only the name is ever shown, and the value is kept out of core dumps.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package let name: String
    private let encoded: SecretMemory
    private let unencoded: SecretMemory

    /// Encoded for the place it is used in. A copy, to be used and let go.
    var value: String { encoded.text }
    /// As it is kept. A copy, to be used and let go.
    var plain: String { unencoded.text }

    /// - Parameter plain: nil: the same.
    init(name: String, value: String, plain: String? = nil) {
        self.name = name
        encoded = SecretMemory(value)
        unencoded = plain.map(SecretMemory.init) ?? encoded
    }

    package var description: String { "<secret \(name)>" }
    package var debugDescription: String { description }
    // `dump` and string interpolation of whatever holds a secret look into the mirror.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Text that may hold secrets, and places for values of the event. Descriptions and dumps show
/// `<secret NAME>` and `{{ path }}` there.
package struct ConcealedText: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    enum Piece: Sendable, Equatable {
        case literal(String)
        case secret(Secret)
        case value(path: String)
    }

    let pieces: [Piece]

    /// With the secrets: for the one who sends it, never for a log, an error or a status. A NUL, which
    /// cannot stand in it otherwise, in the place of each of the event's values.
    package var revealed: String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .literal(let literal): text += literal
            case .secret(let secret): text += secret.value
            case .value: text += "\u{0}"
            }
        }
    }

    /// The paths of the event's values, in their order.
    package var values: [String] {
        pieces.compactMap { if case .value(let path) = $0 { path } else { nil } }
    }

    package var description: String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .literal(let literal): text += literal
            case .secret(let secret): text += secret.description
            case .value(let path): text += "{{ \(path) }}"
            }
        }
    }

    /// The secrets in it, as kept and as used, for hiding them where they turn up.
    package var secrets: [String] {
        pieces.flatMap { piece in
            if case .secret(let secret) = piece { [secret.value, secret.plain] } else { [String]() }
        }
    }

    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Text that names secrets, and perhaps fields of the event, as it stands in the file: nothing is read for it yet.
struct SecretTemplate: Sendable {
    /// How a secret is written in its place; in a URL percent-encoded. A key is never sent, and may have several lines.
    enum Encoding: Sendable { case plain, json, url, key }

    enum Piece: Sendable {
        case literal(String)
        case secret(name: String, place: Place, encoding: Encoding)
        case value(path: String, place: Place)
    }

    var pieces: [Piece] = []

    mutating func append(_ literal: some StringProtocol) {
        guard case .literal(var text)? = pieces.last else {
            pieces.append(.literal(String(literal)))
            return
        }
        // Out of the array first: then it grows in place instead of being copied each time.
        pieces.removeLast()
        text += literal
        pieces.append(.literal(text))
    }

    /// Of a template without secrets.
    var literal: String {
        pieces.reduce(into: "") { text, piece in
            if case .literal(let literal) = piece { text += literal }
        }
    }

    /// For showing: secrets by their names.
    var shown: String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .literal(let literal): text += literal
            case .secret(let name, _, _): text += "\"<secret \(name)>\""
            case .value(let path, _): text += "{{ \(path) }}"
            }
        }
    }

    /// Names become file names below a directory: no slash, no leading dot.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 255 && !name.hasPrefix(".")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
