import Events

/// Walks through a request: its resources, their scopes and their log records.
struct OTLPRequest {
    private(set) var lines = EventLines()
    private let limits: OTLPLogs.Limits
    private let maximumOutput: Int
    private var writer: OTLPEventWriter

    /// - Parameter size: bytes of the request.
    init(limits: OTLPLogs.Limits, size: Int) {
        self.limits = limits
        // Each event repeats the attributes of its resource. Without a bound, a request of 500 KB could become 80 MB.
        maximumOutput = (4 << 20) + 8 * size
        writer = OTLPEventWriter(limits: limits)
    }

    mutating func read(_ body: Span<UInt8>) throws(OTLPFault) {
        var reader = ProtobufReader(body, in: 0..<body.count)
        while let field = try reader.nextField() {
            guard field.number == 1, case .bytes(let range) = field.value else { continue }
            try readResourceLogs(body, range)
        }
    }

    /// ResourceLogs: the resource (1) and its scopes (2), in any order.
    private mutating func readResourceLogs(_ body: Span<UInt8>, _ range: Range<Int>) throws(OTLPFault) {
        var resource: OTLPResource?
        let resourceRange = try Self.last(1, of: body, range)
        var reader = ProtobufReader(body, in: range)
        while let field = try reader.nextField() {
            guard field.number == 2, case .bytes(let scopeLogs) = field.value else { continue }
            if resource == nil {
                resource = try OTLPResource(body, resourceRange, maximumDepth: limits.maximumDepth)
            }
            guard let resource else { continue }
            try readScopeLogs(body, scopeLogs, resource)
        }
    }

    /// ScopeLogs: the scope (1) and its log records (2), in any order.
    private mutating func readScopeLogs(
        _ body: Span<UInt8>, _ range: Range<Int>, _ resource: OTLPResource
    ) throws(OTLPFault) {
        var context: OTLPContext?
        var reader = ProtobufReader(body, in: range)
        while let field = try reader.nextField() {
            guard field.number == 2, case .bytes(let record) = field.value else { continue }
            // Empty scopes cost no time: only a log record needs the context.
            if context == nil {
                let scope = try Self.last(1, of: body, range)
                context = try OTLPContext(body, scope: scope, of: resource, maximumDepth: limits.maximumDepth)
            }
            guard let context else { continue }
            try add(body, record, context)
        }
    }

    private mutating func add(_ body: Span<UInt8>, _ record: Range<Int>, _ context: OTLPContext) throws(OTLPFault) {
        let item = lines.count
        guard item < limits.maximumEvents else {
            throw .request(
                RequestProblem(
                    .tooLarge,
                    """
                    the request has more than \(limits.maximumEvents) log records; send fewer in each request \
                    (OTEL_BLRP_MAX_EXPORT_BATCH_SIZE), or raise max_batch_events of this source
                    """))
        }
        let start = lines.bytes.count
        do throws(OTLPFault) {
            try writer.append(body, record, context, to: &lines.bytes)
        } catch {
            guard case .record(let reason, let detail) = error else { throw error }
            lines.bytes.removeLast(lines.bytes.count - start)
            lines.refused.append((item, Refusal(reason: reason, detail: detail, messageID: writer.messageID(in: body))))
            return
        }
        lines.bytes.append(UInt8(ascii: "\n"))
        lines.items.append(item)
        guard lines.bytes.count <= maximumOutput else {
            throw .request(
                RequestProblem(
                    .tooLarge,
                    """
                    the events of this request take more than \(maximumOutput) bytes, because each contains the \
                    attributes of its resource; send fewer log records in each request, or fewer resource attributes
                    """))
        }
    }

    /// The range of the last field with this number; nil if the message has none.
    private static func last(
        _ number: Int, of body: Span<UInt8>, _ range: Range<Int>
    ) throws(OTLPFault) -> Range<Int>? {
        var found: Range<Int>?
        var reader = ProtobufReader(body, in: range)
        while let field = try reader.nextField() {
            if field.number == number, case .bytes(let range) = field.value { found = range }
        }
        return found
    }
}
