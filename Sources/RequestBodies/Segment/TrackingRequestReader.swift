import Events

/// Reads the bodies of requests to Segment's tracking API.
///
/// - One event: its `type` is that of the endpoint, and is added if it is missing.
/// - A batch, `{"batch": […]}`: `sentAt`, `context` and `integrations` of the batch are added to each event that lacks
///   them. Two objects are merged: a key of the event's own object wins, and values further inside are not merged.
///   Segment documents that both are merged into each event, and leaves open which one wins.
/// - A `writeKey` is a credential. It is removed from the top level of every event.
/// - null counts as missing. The last of several duplicate keys counts. A key may be written with escapes.
/// - Line breaks between tokens become spaces. All other bytes of an event stay.
///
/// A body is valid JSON (RFC 8259), or none of it is accepted. The reader does not parse an item that becomes a line:
/// the scan of the line finds its faults (`EventScanner`). If it finds one, `problem(in:)` explains it.
///
/// Keeps its memory for the next request. Belongs to one thread.
package final class TrackingRequestReader {
    package struct Limits: Sendable {
        /// `max_batch_events`.
        package var maximumEvents: Int
        /// Bytes of one event, as it is stored.
        package var maximumEventSize: Int
        /// Levels of objects and arrays, the event included.
        package var maximumDepth: Int
        /// Bytes of a decompressed body: `max_batch_size`.
        package var maximumBody: Int

        package init(maximumEvents: Int, maximumEventSize: Int, maximumDepth: Int, maximumBody: Int) {
            self.maximumEvents = maximumEvents
            self.maximumEventSize = maximumEventSize
            self.maximumDepth = maximumDepth
            self.maximumBody = maximumBody
        }
    }

    /// All lines of a batch together are at most this many times as large as the largest body. They can be larger than
    /// their body, because each event receives the fields of the batch.
    static let maximumGrowth = 8

    private static let writeKey = Array("writeKey".utf8)

    let limits: Limits
    let index: RequestIndex
    let members = ObjectMembers()
    /// For an event whose write key was removed.
    private let strippedIndex = RequestIndex(maximumItems: 0)
    private let messageID = PathReader(PathSet([FieldPath(["messageId"])]))
    private let validator = JSONValidator()
    /// The text that was validated last, with a line feed after it.
    private var text: [UInt8] = []
    /// Whether the whole body of this request was found valid.
    private var isValid = false

    /// - Precondition: each limit is above 0, the body's at most 512 MiB, and the number of events at most 1,000,000.
    package init(limits: Limits) {
        precondition(
            limits.maximumEventSize > 0 && limits.maximumDepth > 0 && (1...1_000_000).contains(limits.maximumEvents)
                && (1...(512 << 20)).contains(limits.maximumBody), "a limit of requests is out of range: \(limits)")
        self.limits = limits
        index = RequestIndex(maximumItems: limits.maximumEvents)
    }

    /// Reads the body of one request, already decompressed.
    /// - Returns: the events, and the body's own write key, if there is one and it is a string.
    /// - Throws: a problem of the request as a whole. No event of it may then be accepted.
    package func read(
        _ body: Span<UInt8>, for endpoint: TrackingEndpoint
    ) throws(RequestProblem) -> (lines: EventLines, writeKey: String?) {
        guard body.count <= limits.maximumBody else { throw .tooLarge(maximum: limits.maximumBody) }
        isValid = false
        var end = body.count
        while end > 0, Self.isSpace(body[end - 1]) { end -= 1 }
        guard end > 0 else {
            throw RequestProblem(.invalidJSON, "the body is empty; send \(Self.expectation(of: endpoint))")
        }
        let body = body.extracting(first: end)
        if !body.hasLineBreak { return try read(joined: body, for: endpoint) }
        // A line break inside a string is a fault, which must not disappear.
        try validate(body)
        var joined = text
        joined.replaceLineBreaks()
        return try read(joined: joined.span.extracting(first: end), for: endpoint)
    }

    /// Explains why a body is not valid JSON, with the place of the fault in it. For a body whose lines the scanner
    /// refused as `invalidJSON` or `invalidUTF8`.
    /// - Returns: nil if the body is valid JSON. The fault then concerns only one event: half of a surrogate pair.
    package func problem(in body: Span<UInt8>) -> RequestProblem? {
        isValid = false
        do throws(RequestProblem) {
            try validate(body)
            return nil
        } catch {
            return error
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private func read(
        joined body: Span<UInt8>, for endpoint: TrackingEndpoint
    ) throws(RequestProblem) -> (lines: EventLines, writeKey: String?) {
        switch endpoint {
        case .batch: try readBatch(body)
        case .single(let kind): try readEvent(body, kind)
        }
    }

    static func expectation(of endpoint: TrackingEndpoint) -> String {
        switch endpoint {
        case .batch: "an object with the array \"batch\": {\"batch\": [{…}, …]}"
        case .single: "one event, a JSON object: {…}"
        }
    }

    /// Checks the whole body once in a request.
    func validate(_ body: Span<UInt8>) throws(RequestProblem) {
        if isValid { return }
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: body)
        try validateText(maximumDepth: .max) { $0 }
        isValid = true
    }

    /// Checks a batch without its items.
    func validateEnvelope(_ body: Span<UInt8>, batch: FieldValue) throws(RequestProblem) {
        guard batch.type == .array else { return try validate(body) }
        let array = batch.slice.range
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: body.extracting(first: array.lowerBound))
        text.append(UInt8(ascii: "0"))
        text.append(contentsOf: body.extracting(array.upperBound...))
        try validateText(maximumDepth: limits.maximumDepth) {
            $0 <= array.lowerBound ? $0 : $0 - 1 + array.count
        }
    }

    private func validateText(maximumDepth: Int, _ position: (Int) -> Int) throws(RequestProblem) {
        text.append(0x0A)
        do throws(JSONFault) {
            let text = self.text
            try validator.check(text.span, maximumDepth: maximumDepth, position: position)
        } catch {
            throw RequestProblem(error.reason, error.detail)
        }
    }

    /// Finds the place of an event and its fields. An event with a write key is copied without it.
    /// - Parameters:
    ///   - object: the event in `body`.
    ///   - stripped: receives the copy.
    /// - Returns: nil if the place is in `body` itself.
    func strip(
        _ object: RequestIndex.Object, of body: Span<UInt8>, to stripped: inout [UInt8]
    ) throws(RequestProblem) -> RequestIndex.Object? {
        if object.writeKey.type == .missing { return nil }
        // A fault must not disappear with the write key.
        try validate(body)
        stripped.removeAll(keepingCapacity: true)
        MemberRemoval.append(body.extracting(object.range), without: Self.writeKey.span, to: &stripped, members)
        guard strippedIndex.readEvent(stripped.span) else { throw .unreadable }
        return strippedIndex.body
    }

    /// Refuses an item. Its bytes are not scanned later, so the whole body is checked first.
    func refuse(
        _ item: Int, _ range: Range<Int>, of body: Span<UInt8>, _ reason: RefusalReason, _ detail: String,
        in lines: inout EventLines
    ) throws(RequestProblem) {
        try validate(body)
        var refusal = Refusal(reason: reason, detail: detail)
        let event = body.extracting(range)
        if messageID.read(event) != .unreadable, messageID[0].isString, messageID[0].slice.length <= 1200 {
            refusal.messageID = JSONText.string(event.extracting(messageID[0].slice.range))
        }
        lines.refused.append((item, refusal))
    }
}

extension RequestProblem {
    /// - Parameter maximum: bytes of a decompressed body.
    package static func tooLarge(maximum: Int) -> RequestProblem {
        RequestProblem(
            .tooLarge,
            """
            the body is larger than \(maximum) bytes; send fewer events in one request, or raise max_batch_size of \
            this source
            """)
    }

    /// A body that is valid JSON, and of which the parts were not found. It does not occur.
    static var unreadable: RequestProblem { RequestProblem(.invalidJSON, "the body could not be read") }
}
