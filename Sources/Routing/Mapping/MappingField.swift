import Events

/// The source of a value: a path, or a field for which Penstock has a better value than the event's bytes.
enum MappingField: Sendable {
    /// Index of a path in the scope.
    case path(Int)
    /// The whole value of the scope.
    case whole
    /// The time of the event by this machine's clock. It is the client's timestamp, corrected by the error of the
    /// client's clock if the event has `sentAt`; the time of receipt if the client gave no time. The values are the
    /// indexes of the paths `timestamp` and `sentAt`.
    case timestamp(original: Int, sentAt: Int)
    /// The time of receipt.
    case receivedAt
    /// The event's message id, or the id derived from its journal position. The value is the index of the path
    /// `messageId`.
    case messageID(Int)
    /// Index of a secret in the mapping's list.
    case secret(Int)
}

/// Writes the value of a field, of any type.
struct FieldNode: MappingNode {
    let source: MappingField

    var field: MappingField? { source }

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        switch source {
        case .path(let path):
            guard let range = scope.value(path).json else { return false }
            output.append(contentsOf: scope.view.memory.extracting(range))
        case .whole:
            output.append(contentsOf: scope.view.json)
        case .messageID(let path):
            if let range = scope.value(path).json, scope.value(path).type != .null {
                if scope.value(path).isString {
                    scope.run.noteMessageID(output.count + 1..<output.count + range.count - 1)
                }
                output.append(contentsOf: scope.view.memory.extracting(range))
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

/// Writes a text with fields filled in.
struct TemplateNode: MappingNode {
    enum Piece: Sendable {
        /// Contents of a JSON string, already escaped.
        case literal([UInt8])
        case field(MappingField)
    }

    let pieces: [Piece]

    /// Index of the secret, if the text is a single secret; otherwise nil.
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
    /// Appends a field as contents of a JSON string. A missing or null field appends nothing. A string appends its
    /// contents, a number or boolean its JSON spelling, a list or object its JSON, escaped.
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

    /// Appends a time that this machine measured or corrected. More digits than milliseconds would not be accurate.
    private func appendMilliseconds(_ time: EventTime, to text: inout [UInt8]) -> Bool {
        Timestamp.append(time.inMilliseconds, to: &text)
    }

    /// The time that `MappingField.timestamp` describes.
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

    /// The time that a node's value represents; nil if the value is not a time.
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
