import Delivery
import Events

/// One batch on its way: which requests it takes, and what became of them. It settles its claim
/// when nothing of it is under way any more. Engine's thread only.
final class HTTPDelivery {
    private let batch: OutboundBatch
    private let format: HTTPOptions.Format
    private var claim: DeliveryClaim?
    /// Of each request; nil: not known yet.
    private var settlements: [DeliveryClaim.Settlement?]
    private var next = 0
    private var underWay = 0
    /// What one request's answer means for those that were not sent yet.
    private var halted: Outcome?

    /// - Precondition: the batch is not empty.
    init(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim, format: HTTPOptions.Format) {
        self.batch = batch
        self.format = format
        self.claim = consume claim
        settlements = Array(repeating: nil, count: format == .single ? batch.events.count : 1)
    }

    /// The next request to send, nil: no more. Each must be told of with `finish`.
    func takeRequest() -> Int? {
        guard halted == nil, next < settlements.count else { return nil }
        defer { next += 1 }
        underWay += 1
        return next
    }

    func body(of request: Int) -> [UInt8] {
        switch format {
        case .ndjson: batch.payload
        case .array: arrayBody
        case .single: Array(batch.payload[batch.events[request].payload])
        }
    }

    /// The payload, with a comma for each line feed between two events.
    private var arrayBody: [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(batch.payload.count + 1)
        body.append(UInt8(ascii: "["))
        body += batch.payload
        for event in batch.events { body[event.payload.upperBound + 1] = UInt8(ascii: ",") }
        body[body.count - 1] = UInt8(ascii: "]")
        return body
    }

    /// Events in each request.
    var eventsPerRequest: Int { format == .single ? 1 : batch.events.count }

    /// The message ids of a request's events, as text.
    func messageIDs(of request: Int) -> [String] {
        let events = format == .single ? batch.events[request..<request + 1] : batch.events[...]
        return events.map { JSONText.string(Array(batch.payload[$0.messageID]).span) ?? "" }
    }

    /// - Parameter haltsOthers: it goes for what was not sent yet, too.
    func finish(_ request: Int, _ settlement: DeliveryClaim.Settlement, haltsOthers: Bool) {
        settlements[request] = settlement
        underWay -= 1
        if haltsOthers && halted == nil { halted = settlement.outcome(at: 0) }
        if underWay == 0 && (halted != nil || next == settlements.count) { settle() }
    }

    /// Gives the rest back unsent, and settles.
    func abandon(_ reason: String) {
        if halted == nil { halted = .retry(reason: reason) }
        settle()
    }

    private func settle() {
        guard let claim = claim.take() else { return }
        let rest = halted ?? .retry(reason: "not sent")
        if format == .single, let halted, settlements.allSatisfy({ $0?.outcome(at: 0).isLike(halted) ?? true }) {
            // Nobody was let in: that is about the service, not about each event.
            claim.settle(.all(halted))
        } else if format == .single {
            claim.settle(.each(settlements.map { ($0?.outcome(at: 0) ?? rest).ofSingleEvent }))
        } else {
            claim.settle((settlements.first ?? nil) ?? .all(rest))
        }
    }
}

extension DeliveryClaim.Settlement {
    /// What it says about the event at this place.
    fileprivate func outcome(at place: Int) -> Outcome {
        switch self {
        case .all(let outcome): outcome
        case .each(let outcomes): outcomes.indices.contains(place) ? outcomes[place] : .retry(reason: "the answer says nothing about it")
        }
    }
}

extension Outcome {
    /// Both ask to try again, or both to wait for a person.
    fileprivate func isLike(_ other: Outcome) -> Bool {
        switch (self, other) {
        case (.retry, .retry), (.hold, .hold): true
        default: false
        }
    }

    /// A request with one event cannot be halved.
    fileprivate var ofSingleEvent: Outcome {
        if case .tooLarge(let reason, let answer) = self { .rejected(reason: reason, answer: answer) } else { self }
    }
}
