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
        /// The ranges, in the batch's payload, of the text around the events; nil: no text.
        var body: (before: Range<Int>, after: Range<Int>)?
    }

    private(set) var requests: [Request] = []
    /// Events that are not sent: the reason, by index.
    private(set) var refused: [Int: String] = [:]
    let batch: OutboundBatch
    let formats: [HTTPOptions.Format]

    /// - Parameters:
    ///   - batch: not empty.
    ///   - kinds: the destination's kinds of request; at least one.
    ///   - time: the wall clock, for limits on an event's age.
    init(_ batch: OutboundBatch, _ kinds: [HTTPRequest], at time: Int64) {
        self.batch = batch
        formats = kinds.map(\.format)
        if kinds.count == 1, !kinds[0].isAddressed, kinds[0].check == nil {
            let all = Array(batch.events.indices)
            requests = (kinds[0].format == .single ? all.map { [$0] } : [all]).map {
                Request(number: 0, events: $0, url: kinds[0].target.url, headers: kinds[0].headerLines)
            }
            return
        }
        // The number of events in a batch bounds its size.
        var groups: [ArraySlice<UInt8>: Int] = [:]
        for (place, event) in batch.events.enumerated() {
            let envelope = batch.envelope(of: event)
            if let group = groups[envelope] {
                let number = requests[group].number
                if let reason = kinds[number].check?.problem(
                    with: batch.payload.span.extracting(event.payload), at: time)
                {
                    refused[place] = reason
                } else {
                    requests[group].events.append(place)
                }
                continue
            }
            do throws(RequestText.Refusal) {
                let request = try Self.request(for: place, of: batch, kinds, at: time)
                if formats[request.number] != .single { groups[envelope] = requests.count }
                requests.append(request)
            } catch {
                refused[place] = error.reason
            }
        }
    }

    static func request(
        for place: Int, of batch: borrowing OutboundBatch, _ kinds: [HTTPRequest], at time: Int64
    ) throws(RequestText.Refusal) -> Request {
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
        if let reason = kind.check?.problem(with: batch.payload.span.extracting(event.payload), at: time) {
            throw RequestText.Refusal(reason: reason)
        }
        let values = (envelope?.values ?? []).map { JSONText.string(batch.payload.span.extracting($0)) ?? "" }
        if kind.hasBody, envelope?.body == nil {
            throw RequestText.Refusal(reason: "body: it comes to nothing for this event")
        }
        let (url, headers) = try kind.address(values)
        return Request(number: number, events: [place], url: url, headers: headers, body: envelope?.body)
    }

    /// The message ids of a request's events, as text.
    func messageIDs(of request: Int) -> [String] {
        requests[request].events.map {
            JSONText.string(batch.payload.span.extracting(batch.events[$0].messageID)) ?? ""
        }
    }
}
