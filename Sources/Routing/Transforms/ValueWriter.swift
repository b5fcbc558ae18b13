import Events

/// A value template bound to a path table. Writes the value for one event.
indirect enum ValueWriter: Sendable {
    case constant([UInt8])
    case field(Int)
    case text([Piece])
    case list([ValueWriter])
    case object([Member])

    enum Piece: Sendable {
        case literal([UInt8])
        case field(Int)
    }

    struct Member: Sendable {
        var key: [UInt8]
        var value: ValueWriter
    }

    init(_ template: ValueTemplate, _ table: inout PathTable) {
        switch template {
        case .constant(let json): self = .constant(json)
        case .field(let path): self = .field(table.reading(path))
        case .text(let pieces):
            self = .text(
                pieces.map {
                    switch $0 {
                    case .literal(let bytes): .literal(bytes)
                    case .path(let path): .field(table.reading(path))
                    }
                })
        case .list(let items): self = .list(items.map { ValueWriter($0, &table) })
        case .object(let members):
            self = .object(members.map { Member(key: $0.key, value: ValueWriter($0.value, &table)) })
        }
    }

    /// Appends JSON to `text`, copying the event's bytes where possible.
    /// - Returns: false if the value is missing; `text` is then unchanged.
    func write(_ view: borrowing EventView, to text: inout [UInt8]) -> Bool {
        switch self {
        case .constant(let json): text.append(contentsOf: json)
        case .field(let path):
            let value = view.value(path)
            guard let range = value.json else { return false }
            text.append(contentsOf: view.memory.extracting(range))
        case .text(let pieces):
            text.append(UInt8(ascii: "\""))
            for piece in pieces {
                switch piece {
                case .literal(let bytes): text.append(contentsOf: bytes)
                case .field(let path): Self.fill(view.value(path), view, into: &text)
                }
            }
            text.append(UInt8(ascii: "\""))
        case .list(let items):
            text.append(UInt8(ascii: "["))
            var isFirst = true
            for item in items { Self.append([], item, view, &isFirst, to: &text) }
            text.append(UInt8(ascii: "]"))
        case .object(let members):
            text.append(UInt8(ascii: "{"))
            var isFirst = true
            for member in members { Self.append(member.key, member.value, view, &isFirst, to: &text) }
            text.append(UInt8(ascii: "}"))
        }
        return true
    }

    private static func append(
        _ key: [UInt8], _ value: ValueWriter, _ view: borrowing EventView, _ isFirst: inout Bool, to text: inout [UInt8]
    ) {
        let mark = text.count
        if !isFirst { text.append(UInt8(ascii: ",")) }
        text.append(contentsOf: key)
        if value.write(view, to: &text) {
            isFirst = false
        } else {
            text.removeLast(text.count - mark)
        }
    }

    /// Appends a field inside a text. Contents of the event's strings are copied with their escapes.
    private static func fill(_ value: FieldValue, _ view: borrowing EventView, into text: inout [UInt8]) {
        switch value.type {
        case .missing, .null: break
        case .string, .escapedString, .number, .true, .false: text.append(contentsOf: view.bytes(value.slice))
        case .array, .object: JSONText.appendContents(view.bytes(value.slice), to: &text)
        }
    }
}
