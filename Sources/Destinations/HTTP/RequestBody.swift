import Delivery

/// A batch's events as (part of) a request's body.
extension OutboundBatch {
    /// All of them: a batch without envelopes, and not empty, is nearly a body as it is.
    func body(_ format: HTTPOptions.Format) -> [UInt8] {
        switch format {
        case .ndjson: return payload
        case .array: return arrayBody
        case .single: return Array(payload[events[0].payload])
        }
    }

    /// Some of them, by their places.
    func append(_ places: [Int], _ format: HTTPOptions.Format, to body: inout [UInt8]) {
        switch format {
        case .ndjson:
            for place in places {
                body += payload[events[place].payload]
                body.append(UInt8(ascii: "\n"))
            }
        case .array:
            body.append(UInt8(ascii: "["))
            for (number, place) in places.enumerated() {
                if number > 0 { body.append(UInt8(ascii: ",")) }
                body += payload[events[place].payload]
            }
            body.append(UInt8(ascii: "]"))
        case .single:
            for place in places { body += payload[events[place].payload] }
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
