import Delivery

/// One batch in delivery: its requests and their results. It settles its claim when none of its requests is in flight
/// any more. Use only within the worker's turns.
final class HTTPDelivery {
    private let plan: RequestPlan
    /// The number of the batch's events.
    private let count: Int
    private var claim: DeliveryClaim?
    /// The result of each request; nil: not known yet.
    private var settlements: [DeliveryClaim.Settlement?]
    private var next = 0
    /// Requests to send once more.
    private var returned: [Int] = []
    private var sentTwice: Set<Int> = []
    private var underWay = 0
    /// The outcome for all unsent events, set by a response that concerns the whole service.
    private var halted: Outcome?

    /// Settles at once if no request can be sent.
    /// - Parameter count: the number of the batch's events.
    init(_ plan: RequestPlan, count: Int, _ claim: consuming DeliveryClaim) {
        self.plan = plan
        self.count = count
        self.claim = consume claim
        settlements = Array(repeating: nil, count: plan.requests.count)
        if plan.requests.isEmpty { settle() }
    }

    /// The next request to send; nil: no more. Report the end of each with `finish`.
    func takeRequest() -> Int? {
        guard halted == nil else { return nil }
        if let number = returned.popLast() {
            underWay += 1
            return number
        }
        guard next < settlements.count else { return nil }
        defer { next += 1 }
        underWay += 1
        return next
    }

    /// Takes back a request whose credential was refused, to send it once more with another one.
    /// - Returns: false: it has been sent twice, or nothing is sent any more. Report its end with `finish` then.
    func takeBack(_ request: Int) -> Bool {
        guard halted == nil, sentTwice.insert(request).inserted else { return false }
        underWay -= 1
        returned.append(request)
        return true
    }

    /// The kind, the URL and the events of a request.
    func request(_ number: Int) -> RequestPlan.Request { plan.requests[number] }

    func body(of request: Int) -> [UInt8] { plan.body(of: request) }

    /// The message ids of a request's events, as text.
    func messageIDs(of request: Int) -> [String] { plan.messageIDs(of: request) }

    /// - Parameter haltsOthers: the result applies to the unsent requests too.
    func finish(_ request: Int, _ settlement: DeliveryClaim.Settlement, haltsOthers: Bool) {
        settlements[request] = settlement
        underWay -= 1
        if haltsOthers && halted == nil { halted = settlement.outcome(at: 0) }
        if underWay == 0 && (halted != nil || next == settlements.count && returned.isEmpty) { settle() }
    }

    /// Returns the unsent events for a retry, and settles.
    func abandon(_ reason: String) {
        if halted == nil { halted = .retry(reason: reason) }
        settle()
    }

    /// Ends with this outcome for all unsent events, once no request is in flight any more.
    func endUnsent(_ outcome: Outcome) {
        if halted == nil { halted = outcome }
        if underWay == 0 { settle() }
    }

    private func settle() {
        guard let claim = claim.take() else { return }
        let rest = halted ?? .retry(reason: "not sent")
        if plan.requests.count == 1, plan.requests[0].events.count == count {
            claim.settle((settlements.first ?? nil) ?? .all(rest))
        } else if plan.refused.isEmpty, let halted,
            settlements.allSatisfy({ $0?.outcome(at: 0).isLike(halted) ?? true })
        {
            // No request was accepted. The cause is the service, not the single events.
            claim.settle(.all(halted))
        } else {
            claim.settle(.each(outcomes(rest)))
        }
    }

    /// The outcome of each event.
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
    /// The outcome of the event at this index.
    fileprivate func outcome(at place: Int) -> Outcome {
        switch self {
        case .all(let outcome): outcome
        case .each(let outcomes):
            outcomes.indices.contains(place)
                ? outcomes[place] : .retry(reason: "the response does not mention this event")
        }
    }
}

extension Outcome {
    /// Both ask for a retry, or both for an operator's action.
    fileprivate func isLike(_ other: Outcome) -> Bool {
        switch (self, other) {
        case (.retry, .retry), (.hold, .hold): true
        default: false
        }
    }

    /// A request with one event cannot be halved.
    fileprivate var ofSingleEvent: Outcome {
        switch self {
        case .tooLarge(let reason, let answer), .someRejected(let reason, let answer):
            .rejected(reason: reason, answer: answer)
        case .delivered, .retry, .rejected, .hold: self
        }
    }
}
