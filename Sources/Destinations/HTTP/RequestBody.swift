import Delivery

/// A batch as the bodies of requests, before compression.
extension OutboundBatch {
    /// How many requests the batch takes.
    func requests(_ format: HTTPOptions.Format) -> Int { format == .single ? events.count : 1 }

    /// - Precondition: the batch is not empty.
    func body(of request: Int, _ format: HTTPOptions.Format) -> [UInt8] {
        switch format {
        case .ndjson: payload
        case .array: arrayBody
        case .single: Array(payload[events[request].payload])
        }
    }

    /// The payload, with a comma for each line feed between two events.
    private var arrayBody: [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(payload.count + 1)
        body.append(UInt8(ascii: "["))
        body += payload
        for event in events { body[event.payload.upperBound + 1] = UInt8(ascii: ",") }
        body[body.count - 1] = UInt8(ascii: "]")
        return body
    }
}
