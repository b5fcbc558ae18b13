import Events

/// Where a value comes from: a path, or one of the fields that Penstock knows better than the
/// event's bytes do.
enum MappingField: Sendable {
    /// A number among the scope's paths.
    case path(Int)
    /// All of it.
    case whole
    /// When it happened by this machine's clock: the client's own time, moved by as much as its clock
    /// was wrong when it sent the event; the time of receipt if the client gave none. With the numbers
    /// of the paths `timestamp` and `sentAt`.
    case timestamp(original: Int, sentAt: Int)
    /// When it was received.
    case receivedAt
    /// Its own, or the one that is derived from its position. With the path `messageId`.
    case messageID(Int)
    /// A number among the mapping's secrets.
    case secret(Int)
}

/// The value of a field, whatever it is.
struct FieldNode: MappingNode {
    let source: MappingField

    var field: MappingField? { source }

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        switch source {
        case .path(let path):
            guard let range = scope.value(path).json else { return false }
            output.append(contentsOf: scope.view.json.extracting(range))
        case .whole:
            output.append(contentsOf: scope.view.json)
        case .messageID(let path):
            if let range = scope.value(path).json, scope.value(path).type != .null {
                if scope.value(path).isString {
                    scope.run.noteMessageID(output.count + 1..<output.count + range.count - 1)
                }
                output.append(contentsOf: scope.view.json.extracting(range))
            } else {
                output.append(UInt8(ascii: "\""))
                let start = output.count
                scope.run.appendDerivedID(to: &output)
                scope.run.noteMessageID(start..<output.count)
                output.append(UInt8(ascii: "\""))
            }
        case .timestamp, .receivedAt, .secret:
            output.append(UInt8(ascii: "\""))
            scope.fill(source, into: &output)
            output.append(UInt8(ascii: "\""))
        }
        return true
    }
}

/// A text with fields filled in.
struct TemplateNode: MappingNode {
    enum Piece: Sendable {
        /// Contents of a JSON string, escapes and all.
        case literal([UInt8])
        case field(MappingField)
    }

    let pieces: [Piece]

    /// If it is a secret and nothing else: its number.
    var secret: Int? {
        if pieces.count == 1, case .field(.secret(let number)) = pieces[0] { number } else { nil }
    }

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        let start = output.count
        output.append(UInt8(ascii: "\""))
        for piece in pieces {
            switch piece {
            case .literal(let bytes): output.append(contentsOf: bytes.span)
            case .field(let field): scope.fill(field, into: &output)
            }
            guard scope.run.allows(output.count - start) else { break }
        }
        output.append(UInt8(ascii: "\""))
        return true
    }
}

extension MappingScope {
    /// Appends a field as contents of a JSON string: nothing for one that is missing or null; numbers
    /// and booleans spelled out; of lists and objects their JSON.
    func fill(_ field: MappingField, into text: inout [UInt8]) {
        switch field {
        case .path(let path):
            let value = value(path)
            switch value.type {
            case .missing, .null: break
            case .string, .escapedString, .number, .true, .false: text.append(contentsOf: view.bytes(value.slice))
            case .array, .object: JSONText.appendContents(view.bytes(value.slice), to: &text)
            }
        case .whole: JSONText.appendContents(view.json, to: &text)
        case .messageID(let path):
            switch value(path).type {
            case .missing, .null: run.appendDerivedID(to: &text)
            default: fill(.path(path), into: &text)
            }
        case .timestamp(let original, let sentAt):
            let isCorrected = !value(original).isString || value(sentAt).isString
            if !isCorrected || !appendMilliseconds(time(original: original, sentAt: sentAt), to: &text) {
                fill(.path(original), into: &text)
            }
        case .receivedAt: _ = appendMilliseconds(receivedAt, to: &text)
        case .secret(let number): text += run.secrets[number]
        }
    }

    private var receivedAt: EventTime { EventTime(nanoseconds: run.receivedAt) }

    /// A time that this machine has measured or corrected, as exact as that makes sense.
    private func appendMilliseconds(_ time: EventTime, to text: inout [UInt8]) -> Bool {
        Timestamp.append(time.inMilliseconds, to: &text)
    }

    /// `MappingField.timestamp`.
    private func time(original: Int, sentAt: Int) -> EventTime {
        guard let original = time(value(original)) else { return receivedAt }
        guard let sentAt = time(value(sentAt)) else { return original }
        return original.moved(from: sentAt, to: receivedAt)
    }

    private func time(_ value: FieldValue) -> EventTime? {
        switch value.type {
        case .string: return Timestamp.time(view.bytes(value.slice))
        case .escapedString: return JSONText.string(view.bytes(value.slice)).flatMap { Timestamp.time($0.utf8.span) }
        default: return nil
        }
    }

    /// The time that a node says; nil if it is none.
    func time(_ node: any MappingNode) -> EventTime? {
        switch node.field {
        case .path(let path): return time(value(path))
        case .timestamp(let original, let sentAt): return time(original: original, sentAt: sentAt)
        case .receivedAt: return receivedAt
        case .whole, .messageID, .secret, nil:
            var text = run.takeBuffer()
            defer { run.giveBack(&text) }
            return read(node, into: &text) == .string ? Timestamp.time(text.span) : nil
        }
    }
}
