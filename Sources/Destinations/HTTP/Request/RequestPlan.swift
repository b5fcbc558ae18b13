import Delivery
import Events

/// A batch split into requests: the events and the URL of each request, and the events that are not sent because the
/// service would reject them. Pure.
struct RequestPlan {
    struct Request {
        /// An index into the destination's kinds of request.
        var number: Int
        /// Indices in the batch, in its order.
        var events: [Int]
        /// As libcurl takes it.
        var url: String
        var headers: [String]
        /// The text around the events; nil: no text.
        var body: RequestFrame?
    }

    private(set) var requests: [Request] = []
    /// Events that are not sent: the reason, by index.
    private(set) var refused: [Int: String] = [:]
    /// The JSON of events that are changed, so that the service accepts them, by index.
    private(set) var mended: [Int: [UInt8]] = [:]
    let batch: OutboundBatch
    let formats: [HTTPOptions.Format]

    /// - Parameters:
    ///   - batch: not empty.
    ///   - kinds: the destination's kinds of request; at least one.
    ///   - time: the wall clock, for limits on an event's age.
    init(_ batch: OutboundBatch, _ kinds: [HTTPRequest], at time: Int64) {
        self.batch = batch
        formats = kinds.map(\.format)
        if kinds.count == 1, !kinds[0].isAddressed, !kinds[0].checks {
            let all = Array(batch.events.indices)
            requests = (kinds[0].format.isOnePerRequest ? all.map { [$0] } : [all]).map {
                Request(number: 0, events: $0, url: kinds[0].target.url, headers: kinds[0].headerLines)
            }
            fillBatchValues(kinds)
            return
        }
        // The number of events in a batch bounds its size.
        var groups: [ArraySlice<UInt8>: Int] = [:]
        for (place, event) in batch.events.enumerated() {
            let envelope = batch.envelope(of: event)
            if let group = groups[envelope] {
                let number = requests[group].number
                let (reason, changed) = Self.check(event, of: batch, kinds[number], at: time)
                if let reason {
                    refused[place] = reason
                } else {
                    mended[place] = changed
                    requests[group].events.append(place)
                }
                continue
            }
            do throws(RequestText.Refusal) {
                let (request, changed) = try Self.request(for: place, of: batch, kinds, at: time)
                mended[place] = changed
                if !formats[request.number].isOnePerRequest { groups[envelope] = requests.count }
                requests.append(request)
            } catch {
                refused[place] = error.reason
            }
        }
        fillBatchValues(kinds)
    }

    /// Values of the batch are known only when each request has its events.
    private mutating func fillBatchValues(_ kinds: [HTTPRequest]) {
        guard kinds.contains(where: { !$0.batchValues.isEmpty }) else { return }
        let isSplit = kinds.count > 1 || kinds.contains(where: \.isSplit)
        for number in requests.indices {
            let names = kinds[requests[number].number].batchValues
            if names.isEmpty { continue }
            let events = requests[number].events
            var values = names.map { $0.text(of: events, in: batch, kinds[0].destination, isSplit: isSplit) }[...]
            requests[number].url = RequestText.fill(requests[number].url, &values, encoded: true)
            requests[number].headers = requests[number].headers.map { RequestText.fill($0, &values, encoded: false) }
        }
    }

    /// Whether an event is sent, and what is sent instead of it.
    static func check(
        _ event: OutboundEvent, of batch: borrowing OutboundBatch, _ kind: HTTPRequest, at time: Int64
    ) -> (refusal: String?, mended: [UInt8]?) {
        if kind.format.mayRefuse,
            let problem = TextBody.problem(Array(batch.payload[event.payload]), kind.format)
        {
            return (problem, nil)
        }
        guard let check = kind.check else { return (nil, nil) }
        let json = batch.payload.span.extracting(event.payload)
        guard let mended = check.mended(json, at: time) else { return (check.problem(with: json, at: time), nil) }
        return (check.problem(with: mended.span, at: time), mended)
    }

    /// - Returns: the request of an event, and what is sent instead of the event; nil: the event itself.
    static func request(
        for place: Int, of batch: borrowing OutboundBatch, _ kinds: [HTTPRequest], at time: Int64
    ) throws(RequestText.Refusal) -> (Request, mended: [UInt8]?) {
        let event = batch.events[place]
        var envelope: RequestEnvelope?
        if event.envelope > 0 {
            envelope = RequestEnvelope(
                batch.payload, event.payload.lowerBound - event.envelope..<event.payload.lowerBound)
            guard envelope != nil else { throw RequestText.Refusal(reason: "it does not say which request it wants") }
        }
        let number = envelope?.number ?? 0
        guard kinds.indices.contains(number) else { throw RequestText.Refusal(reason: "there is no request \(number)") }
        let kind = kinds[number]
        let (refusal, mended) = check(event, of: batch, kind, at: time)
        if let refusal { throw RequestText.Refusal(reason: refusal) }
        let values = (envelope?.values ?? []).map { JSONText.string(batch.payload.span.extracting($0)) ?? "" }
        if kind.hasBody, envelope?.body == nil {
            throw RequestText.Refusal(reason: "body: it comes to nothing for this event")
        }
        let (url, headers) = try kind.address(values)
        let frame = try envelope?.body.map { around throws(RequestText.Refusal) in
            try RequestFrame(batch.payload[around.before], batch.payload[around.after]).checked(
                kind.bodyCheck, at: time)
        }
        return (Request(number: number, events: [place], url: url, headers: headers, body: frame), mended)
    }

    /// The message ids of a request's events, as text.
    func messageIDs(of request: Int) -> [String] {
        requests[request].events.map {
            JSONText.string(batch.payload.span.extracting(batch.events[$0].messageID)) ?? ""
        }
    }
}
