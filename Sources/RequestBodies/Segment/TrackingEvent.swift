import Events

extension TrackingRequestReader {
    /// Reads a body that is one event.
    func readEvent(
        _ body: Span<UInt8>, _ kind: EventKind
    ) throws(RequestProblem) -> (lines: EventLines, writeKey: String?) {
        var lines = EventLines()
        guard index.readEvent(body) else {
            try validate(body)
            let detail = "an event is a JSON object, {…}; this is another value. Send several events to /v1/batch"
            try refuse(0, 0..<body.count, of: body, .notAnObject, detail, in: &lines)
            return (lines, nil)
        }
        let object = index.body
        let writeKey = object.writeKey.isString ? JSONText.string(body.extracting(object.writeKey.slice.range)) : nil
        if let detail = Self.mismatch(object.type, of: body, kind) {
            try refuse(0, object.range, of: body, .unknownType, detail, in: &lines)
            return (lines, writeKey)
        }
        var stripped: [UInt8] = []
        let strippedObject = try strip(object, of: body, to: &stripped)
        let isWritten =
            if let strippedObject {
                write(strippedObject, of: stripped.span, kind, to: &lines.bytes)
            } else {
                write(object, of: body, kind, to: &lines.bytes)
            }
        guard isWritten else {
            try validate(body)
            throw .unreadable
        }
        if lines.bytes.count - 1 > limits.maximumEventSize {
            lines.bytes.removeAll()
            let refusal = Refusal.tooLarge(maximum: limits.maximumEventSize)
            try refuse(0, object.range, of: body, refusal.reason, refusal.detail, in: &lines)
        } else {
            lines.items = [0]
        }
        return (lines, writeKey)
    }

    /// Appends the event with the endpoint's type as a line.
    /// - Returns: false if the event is not valid JSON.
    private func write(
        _ event: RequestIndex.Object, of bytes: Span<UInt8>, _ kind: EventKind, to output: inout [UInt8]
    ) -> Bool {
        var editor = EventEditor()
        var type = SharedField("type", kind.name)
        guard type.apply(to: event.type, of: bytes, item: 0, body: bytes, &editor, members) else { return false }
        editor.write(event.range, of: bytes, to: &output)
        return true
    }

    /// Explains why an event cannot come to this endpoint; nil if it can.
    private static func mismatch(_ type: FieldValue, of body: Span<UInt8>, _ kind: EventKind) -> String? {
        let found: String
        switch type.type {
        case .missing, .null:
            return nil
        case .string, .escapedString:
            let text = JSONText.string(body.extracting(type.slice.range)) ?? ""
            if text == kind.name { return nil }
            found = "\"" + (text.count > 40 ? text.prefix(40) + "…" : text) + "\""
        case .array: found = "a list"
        case .object: found = "an object"
        case .number, .true, .false: found = "not a string"
        }
        return """
            type: this endpoint accepts events of type "\(kind.name)", and the type of this event is \(found); leave \
            out type, or send the event to /v1/batch
            """
    }
}
