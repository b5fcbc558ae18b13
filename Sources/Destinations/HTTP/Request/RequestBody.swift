import Delivery
import Events

extension RequestPlan {
    /// The body, before compression.
    func body(of request: Int) -> [UInt8] {
        let request = requests[request]
        let format = formats[request.number]
        guard let around = request.body else {
            let isWhole = request.events.count == batch.events.count && batch.events[0].envelope == 0
            if isWhole, mended.isEmpty { return batch.body(format) }
            var body: [UInt8] = []
            batch.append(request.events, format, mended, to: &body)
            return body
        }
        var body = around.before
        batch.append(request.events, format, mended, to: &body)
        body += around.after
        return body
    }
}

/// Writes a batch's events as a request's body, or as a part of one.
extension OutboundBatch {
    /// The body for all events. The batch is not empty and has no envelopes, so its payload is almost a body already.
    func body(_ format: HTTPOptions.Format) -> [UInt8] {
        switch format {
        case .ndjson: return payload
        case .lines, .text, .form, .xml:
            var body: [UInt8] = []
            append(Array(events.indices), format, [:], to: &body)
            return body
        case .array: return arrayBody
        case .single: return Array(payload[events[0].payload])
        }
    }

    /// Appends the events at these indices.
    /// - Parameter mended: what is sent instead of an event, by its index.
    func append(_ places: [Int], _ format: HTTPOptions.Format, _ mended: [Int: [UInt8]], to body: inout [UInt8]) {
        func json(_ place: Int) -> ArraySlice<UInt8> { mended[place]?[...] ?? payload[events[place].payload] }
        switch format {
        case .ndjson:
            for place in places {
                body += json(place)
                body.append(UInt8(ascii: "\n"))
            }
        case .lines:
            for place in places {
                let event = Array(json(place))
                // An event that is no list is one line.
                let whole = JSONDocument(event, maximumDepth: 64)
                var lines = whole.map { [$0.range] } ?? []
                if case .array(let items)? = whole?.value { lines = items.map(\.range) }
                for line in lines {
                    body += event[line]
                    body.append(UInt8(ascii: "\n"))
                }
            }
        case .array:
            body.append(UInt8(ascii: "["))
            for (number, place) in places.enumerated() {
                if number > 0 { body.append(UInt8(ascii: ",")) }
                body += json(place)
            }
            body.append(UInt8(ascii: "]"))
        case .single:
            for place in places { body += json(place) }
        case .text:
            for place in places {
                body += TextBody.text(Array(json(place)))
                body.append(UInt8(ascii: "\n"))
            }
        case .form:
            for place in places { body += TextBody.form(Array(json(place))) }
        case .xml:
            // An event that is no document has been refused (`TextBody.problem`).
            for place in places { body += (try? XMLBody.document(Array(json(place)))) ?? [] }
        }
    }

    /// The payload, with a comma in place of each line feed between two events.
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
