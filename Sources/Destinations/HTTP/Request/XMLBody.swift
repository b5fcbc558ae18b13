import Events

/// A body that is an XML document, made of an event that is a JSON object with one member: the root element.
///
/// The members of an object are elements. A list stands for an element for each of its items, `@NAME` for an attribute,
/// `#text` for the text of an element that also has attributes; null is left out. Characters that no XML document can
/// have, such as U+0001, become U+FFFD.
///
/// Source: W3C, "Extensible Markup Language (XML) 1.0 (Fifth Edition)".
struct XMLBody {
    /// Why an event is no document.
    struct Problem: Error, Equatable, CustomStringConvertible {
        var description: String
    }

    private let json: [UInt8]
    private var output: [UInt8] = Array(#"<?xml version="1.0" encoding="UTF-8"?>"#.utf8)

    static func document(_ json: [UInt8]) throws(Problem) -> [UInt8] {
        guard let document = JSONDocument(json, maximumDepth: 64), case .object(let members) = document.value,
            let root = members.first, members.count == 1
        else { throw Problem(description: "an XML document needs an object with one member, its root element") }
        switch root.value.value {
        case .array, .null: throw Problem(description: "the root element of an XML document is a list, or null")
        default: break
        }
        var body = XMLBody(json: json)
        try body.append(element: body.name(root.name), root.value)
        return body.output
    }

    private init(json: [UInt8]) { self.json = json }

    private mutating func append(element name: String, _ value: JSONDocument) throws(Problem) {
        if case .array(let items) = value.value {
            for item in items {
                if case .array = item.value { throw Problem(description: "a list in the list \(name) has no name") }
                try append(element: name, item)
            }
            return
        }
        if case .null = value.value { return }
        output += "<\(name)".utf8
        guard case .object(let members) = value.value else {
            output.append(UInt8(ascii: ">"))
            append(text: text(value), isAttribute: false)
            output += "</\(name)>".utf8
            return
        }
        try append(attributesOf: members)
        output.append(UInt8(ascii: ">"))
        for (key, value) in members where key.first != UInt8(ascii: "@") {
            if key.elementsEqual("#text".utf8) {
                if case .null = value.value { continue }
                append(text: text(value), isAttribute: false)
            } else {
                try append(element: self.name(key), value)
            }
        }
        output += "</\(name)>".utf8
    }

    private mutating func append(attributesOf members: [(name: [UInt8], value: JSONDocument)]) throws(Problem) {
        var names: Set<String> = []
        for (key, value) in members where key.first == UInt8(ascii: "@") {
            if case .null = value.value { continue }
            let name = try self.name(key.dropFirst())
            guard names.insert(name).inserted else {
                throw Problem(description: "two attributes have the name \(name)")
            }
            output += " \(name)=\"".utf8
            append(text: text(value), isAttribute: true)
            output.append(UInt8(ascii: "\""))
        }
    }

    // MARK: Names

    private func name(_ key: some Collection<UInt8>) throws(Problem) -> String {
        let name = JSONText.string(Array(key).span) ?? ""
        guard let first = name.unicodeScalars.first, Self.startsName(first),
            name.unicodeScalars.allSatisfy(Self.isInName)
        else {
            let shown = String(name.prefix(40)).debugDescription
            throw Problem(description: "\(shown) is not the name of an XML element or attribute")
        }
        return name
    }

    /// `NameStartChar`, above ASCII.
    private static let letters: [ClosedRange<UInt32>] = [
        0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x1FFF, 0x200C...0x200D, 0x2070...0x218F,
        0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD, 0x10000...0xEFFFF,
    ]

    private static func startsName(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "_", ":": true
        default: letters.contains { $0.contains(scalar.value) }
        }
    }

    /// `NameChar`
    private static func isInName(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "0"..."9", "-", ".", "\u{B7}", "\u{300}"..."\u{36F}", "\u{203F}"..."\u{2040}": true
        default: startsName(scalar)
        }
    }

    // MARK: Texts

    /// The text of a string; of any other value, its JSON.
    private func text(_ value: JSONDocument) -> String {
        String(decoding: TextBody.text(Array(json[value.range])), as: UTF8.self)
    }

    private mutating func append(text: String, isAttribute: Bool) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;".utf8
            case "<": output += "&lt;".utf8
            case ">": output += "&gt;".utf8
            case "\"" where isAttribute: output += "&quot;".utf8
            // A reader would otherwise change these to other blanks.
            case "\r": output += "&#13;".utf8
            case "\n" where isAttribute: output += "&#10;".utf8
            case "\t" where isAttribute: output += "&#9;".utf8
            case "\t", "\n": output.append(UInt8(scalar.value))
            case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": output += "\u{FFFD}".utf8
            default: output += String(scalar).utf8
            }
        }
    }
}
