import Delivery

/// One batch on its way: which requests it takes, and what became of them. It settles its claim
/// when nothing of it is under way any more. In the worker's turns only.
final class HTTPDelivery {
    private let plan: RequestPlan
    /// How many events it has.
    private let count: Int
    private var claim: DeliveryClaim?
    /// Of each request; nil: not known yet.
    private var settlements: [DeliveryClaim.Settlement?]
    private var next = 0
    private var underWay = 0
    /// What one request's answer means for those that were not sent yet.
    private var halted: Outcome?

    /// Settles at once if nothing of it can be sent.
    /// - Parameter count: of the batch's events.
    init(_ plan: RequestPlan, count: Int, _ claim: consuming DeliveryClaim) {
        self.plan = plan
        self.count = count
        self.claim = consume claim
        settlements = Array(repeating: nil, count: plan.requests.count)
        if plan.requests.isEmpty { settle() }
    }

    /// The next request to send, nil: no more. Each must be told of with `finish`.
    func takeRequest() -> Int? {
        guard halted == nil, next < settlements.count else { return nil }
        defer { next += 1 }
        underWay += 1
        return next
    }

    /// Which, where to, and of which events.
    func request(_ number: Int) -> RequestPlan.Request { plan.requests[number] }

    func body(of request: Int) -> [UInt8] { plan.body(of: request) }

    /// The message ids of a request's events, as text.
    func messageIDs(of request: Int) -> [String] { plan.messageIDs(of: request) }

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
        if plan.requests.count == 1, plan.requests[0].events.count == count {
            claim.settle((settlements.first ?? nil) ?? .all(rest))
        } else if plan.refused.isEmpty, let halted, settlements.allSatisfy({ $0?.outcome(at: 0).isLike(halted) ?? true }) {
            // Nobody was let in: that is about the service, not about each event.
            claim.settle(.all(halted))
        } else {
            claim.settle(.each(outcomes(rest)))
        }
    }

    /// Of each event.
    private func outcomes(_ rest: Outcome) -> [Outcome] {
        var outcomes = [Outcome](repeating: rest, count: count)
        for (place, reason) in plan.refused { outcomes[place] = .rejected(reason: "not sent: \(reason)") }
        for (request, settlement) in zip(plan.requests, settlements) {
            for (number, place) in request.events.enumerated() {
                let outcome = settlement?.outcome(at: number) ?? rest
                outcomes[place] = request.events.count == 1 ? outcome.ofSingleEvent : outcome
            }
        }
        return outcomes
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
