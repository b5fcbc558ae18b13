import Events

extension TrackingRequestReader {
    /// Reads a body that is a batch.
    func readBatch(_ body: Span<UInt8>) throws(RequestProblem) -> (lines: EventLines, writeKey: String?) {
        guard index.readBatch(body) else {
            try validate(body)
            throw RequestProblem(
                .notAnObject, "the body is a JSON value of another kind; send \(Self.expectation(of: .batch))")
        }
        let envelope = index.body
        try validateEnvelope(body, batch: envelope.batch)
        try checkItems(envelope.batch)
        let writeKey =
            envelope.writeKey.isString ? JSONText.string(body.extracting(envelope.writeKey.slice.range)) : nil
        var batch = try Batch(envelope, of: body, limits, members)
        let largest = limits.maximumBody * Self.maximumGrowth
        var copy: [UInt8] = []
        var lines = EventLines()
        lines.items.reserveCapacity(index.itemCount)
        lines.bytes.reserveCapacity(min(body.count + index.itemCount * batch.sizePerItem, largest))
        for item in 0..<index.itemCount {
            try add(item, of: body, &batch, &copy, to: &lines)
            if lines.bytes.count > largest {
                throw RequestProblem(
                    .tooLarge,
                    """
                    the events of the batch, each with the context and integrations of the batch, have more than \
                    \(largest) bytes; send fewer events in one request, or raise max_batch_size of this source
                    """)
            }
        }
        return (lines, writeKey)
    }

    private func checkItems(_ batch: FieldValue) throws(RequestProblem) {
        guard batch.type == .array else {
            let found =
                batch.type == .missing || batch.type == .null
                ? "the body has no \"batch\"" : "\"batch\" is not an array"
            throw RequestProblem(.schemaViolation, "\(found); send \(Self.expectation(of: .batch))")
        }
        if index.itemCount == 0 {
            throw RequestProblem(.emptyBatch, "the array \"batch\" is empty; send at least 1 event")
        }
        if index.itemCount > limits.maximumEvents {
            throw RequestProblem(
                .tooLarge,
                """
                the batch has \(index.itemCount) events, and max_batch_events of this source is \
                \(limits.maximumEvents); send fewer events in one request
                """)
        }
    }

    /// - Parameter copy: memory for an event without its write key.
    private func add(
        _ item: Int, of body: Span<UInt8>, _ batch: inout Batch, _ copy: inout [UInt8], to lines: inout EventLines
    ) throws(RequestProblem) {
        let object = index[item]
        guard body[object.range.lowerBound] == UInt8(ascii: "{"),
            body[object.range.upperBound - 1] == UInt8(ascii: "}")
        else {
            let detail = "an event is a JSON object, {…}; this item of the batch is another value"
            return try refuse(item, object.range, of: body, .notAnObject, detail, in: &lines)
        }
        let start = lines.bytes.count
        if object.range.count <= limits.maximumEventSize {
            let stripped = try strip(object, of: body, to: &copy)
            let isApplied =
                if let stripped {
                    batch.write(stripped, of: copy.span, item: item, body, to: &lines.bytes, members)
                } else {
                    batch.write(object, of: body, item: item, body, to: &lines.bytes, members)
                }
            guard isApplied else {
                try validate(body)
                throw .unreadable
            }
        }
        let size = lines.bytes.count - start - 1
        if 0...limits.maximumEventSize ~= size { return lines.items.append(item) }
        lines.bytes.removeLast(lines.bytes.count - start)
        let refusal = Refusal.tooLarge(maximum: limits.maximumEventSize)
        try refuse(item, object.range, of: body, refusal.reason, refusal.detail, in: &lines)
    }
}

/// What one batch adds to each of its events.
private struct Batch {
    private var context: SharedField?
    private var integrations: SharedField?
    private var sentAt: SharedField?
    private var editor = EventEditor()

    init(
        _ envelope: RequestIndex.Object, of body: Span<UInt8>, _ limits: TrackingRequestReader.Limits,
        _ reader: ObjectMembers
    ) throws(RequestProblem) {
        guard envelope.context.type == .object || envelope.context.type == .null || envelope.context.type == .missing
        else {
            throw RequestProblem(.contextNotObject, "context of the batch: expected an object, {…}")
        }
        for (key, value) in [
            ("context", envelope.context), ("integrations", envelope.integrations), ("sentAt", envelope.sentAt),
        ] where value.slice.isPresent && value.slice.length > limits.maximumEventSize {
            throw RequestProblem(
                .tooLarge,
                """
                \(key) of the batch is added to each event, and it is larger than an event may be \
                (\(limits.maximumEventSize) bytes); make it smaller
                """)
        }
        context = SharedField("context", envelope.context, of: body, isMerged: true, reader)
        integrations = SharedField("integrations", envelope.integrations, of: body, isMerged: true, reader)
        sentAt = SharedField("sentAt", envelope.sentAt, of: body, isMerged: false, reader)
    }

    /// Bytes that an event receives at most, its line feed and keys included.
    var sizePerItem: Int { 64 + (context?.size ?? 0) + (integrations?.size ?? 0) + (sentAt?.size ?? 0) }

    /// Appends an event as a line.
    /// - Parameter bytes: the bytes that hold the event: the body, or a copy of the event.
    /// - Returns: false if the event is not valid JSON.
    mutating func write(
        _ event: RequestIndex.Object, of bytes: Span<UInt8>, item: Int, _ body: Span<UInt8>,
        to output: inout [UInt8], _ reader: ObjectMembers
    ) -> Bool {
        editor.begin()
        // Optional chaining gives nil for a field that the batch does not have.
        guard context?.apply(to: event.context, of: bytes, item: item, body: body, &editor, reader) ?? true,
            integrations?.apply(to: event.integrations, of: bytes, item: item, body: body, &editor, reader) ?? true,
            sentAt?.apply(to: event.sentAt, of: bytes, item: item, body: body, &editor, reader) ?? true
        else { return false }
        editor.write(event.range, of: bytes, to: &output)
        return true
    }
}
