import Platform

/// A named secret. Only the name is ever shown, and the value is kept out of core dumps.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package let name: String
    private let encoded: SecretMemory
    private let unencoded: SecretMemory

    /// The value, encoded for the place it is used in. This is a copy: use it and release it.
    var value: String { encoded.text }
    /// The value as stored. This is a copy: use it and release it.
    package var plain: String { unencoded.text }

    /// - Parameter plain: the value as stored; nil: equal to `value`.
    init(name: String, value: String, plain: String? = nil) {
        self.name = name
        encoded = SecretMemory(value)
        unencoded = plain.map(SecretMemory.init) ?? encoded
    }

    package var description: String { "<secret \(name)>" }
    package var debugDescription: String { description }
    // `dump` and string interpolation of any type that holds a secret read the mirror.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Text that may hold secrets and placeholders for values of the event or of the batch. Descriptions and dumps show
/// these as `<secret NAME>`, `{{ path }}` and `{{ batch.NAME }}`.
package struct ConcealedText: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    enum Piece: Sendable, Equatable {
        case literal(String)
        case secret(Secret)
        case value(path: String)
        case batch(Configuration.BatchValue)
    }

    let pieces: [Piece]

    /// The text with its secrets filled in, for sending only: never log it, and never put it in an error or a status.
    /// Each value of the event is a NUL, and each of the batch the next character: the text cannot hold them otherwise.
    package var revealed: String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .literal(let literal): text += literal
            case .secret(let secret): text += secret.value
            case .value: text += "\u{0}"
            case .batch: text += "\u{1}"
            }
        }
    }

    /// The paths of the event's values, in order.
    package var values: [String] {
        pieces.compactMap { if case .value(let path) = $0 { path } else { nil } }
    }

    /// The batch's values, in order.
    package var batchValues: [Configuration.BatchValue] {
        pieces.compactMap { if case .batch(let value) = $0 { value } else { nil } }
    }

    package var description: String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .literal(let literal): text += literal
            case .secret(let secret): text += secret.description
            case .value(let path): text += "{{ \(path) }}"
            case .batch(let value): text += "{{ batch.\(value.rawValue) }}"
            }
        }
    }

    /// The secrets, both as stored and as encoded, so that they can be hidden from other text.
    package var secrets: [String] {
        pieces.flatMap { piece in
            if case .secret(let secret) = piece { [secret.value, secret.plain] } else { [String]() }
        }
    }

    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Text that names secrets, and perhaps fields of the event, as written. No secret has been read yet.
struct SecretTemplate: Sendable {
    /// How to encode a secret for its place. In a URL it is percent-encoded. A key is never sent, and may have several
    /// lines.
    enum Encoding: Sendable { case plain, json, url, key }

    enum Piece: Sendable {
        case literal(String)
        case secret(name: String, place: Place, encoding: Encoding)
        case value(path: String, place: Place)
        case batch(Configuration.BatchValue, place: Place)
    }

    var pieces: [Piece] = []

    mutating func append(_ literal: some StringProtocol) {
        guard case .literal(var text)? = pieces.last else {
            pieces.append(.literal(String(literal)))
            return
        }
        // Remove the text from the array first, so that it grows in place rather than being copied each time.
        pieces.removeLast()
        text += literal
        pieces.append(.literal(text))
    }

    /// The text of a template without secrets.
    var literal: String {
        pieces.reduce(into: "") { text, piece in
            if case .literal(let literal) = piece { text += literal }
        }
    }

    /// The text for display, with secrets by name.
    var shown: String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .literal(let literal): text += literal
            case .secret(let name, _, _): text += "\"<secret \(name)>\""
            case .value(let path, _): text += "{{ \(path) }}"
            case .batch(let value, _): text += "{{ batch.\(value.rawValue) }}"
            }
        }
    }

    /// Names become file names in a directory, so they have no slash and no leading dot.
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
