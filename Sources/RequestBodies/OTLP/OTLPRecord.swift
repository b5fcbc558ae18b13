/// The fields of a LogRecord. Ranges are of the request's bytes.
struct OTLPRecord {
    /// Nanoseconds since 1970-01-01 UTC; 0 if unknown.
    var time: UInt64 = 0
    /// When OpenTelemetry's SDK or collector received the record. Unit as for `time`.
    var observedTime: UInt64 = 0
    var severityNumber: Int32 = 0
    var severityText = 0..<0
    /// The AnyValue.
    var body: Range<Int>?
    var droppedAttributes: UInt32 = 0
    var flags: UInt32 = 0
    var traceID = 0..<0
    var spanID = 0..<0
    var eventName = 0..<0

    /// - Parameter attributes: receives the record's attributes.
    init(_ bytes: Span<UInt8>, _ range: Range<Int>, attributes: inout [OTLPAttribute]) throws(OTLPFault) {
        var reader = ProtobufReader(bytes, in: range)
        while let field = try reader.nextField() {
            // A field of another type than expected is unknown, and skipped.
            switch (field.number, field.value) {
            case (1, .fixed64(let value)): time = value
            case (2, .varint(let value)): severityNumber = Int32(truncatingIfNeeded: value)
            case (3, .bytes(let range)): severityText = range
            case (5, .bytes(let range)): body = range
            case (6, .bytes(let range)): attributes.append(try OTLPAttribute(bytes, range))
            case (7, .varint(let value)): droppedAttributes = UInt32(truncatingIfNeeded: value)
            case (8, .fixed32(let value)): flags = value
            case (9, .bytes(let range)): traceID = range
            case (10, .bytes(let range)): spanID = range
            case (11, .fixed64(let value)): observedTime = value
            case (12, .bytes(let range)): eventName = range
            default: break
            }
        }
    }
}
