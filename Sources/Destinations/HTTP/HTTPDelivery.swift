import Delivery

/// One batch on its way: which requests it takes, and what became of them. It settles its claim
/// when nothing of it is under way any more. Engine's thread only.
final class HTTPDelivery {
    private let batch: OutboundBatch
    private let format: HTTPOptions.Format
    private var claim: DeliveryClaim?
    /// Of each request; nil: not known yet.
    private var outcomes: [Outcome?]
    private var next = 0
    private var underWay = 0
    /// What one request's answer means for those that were not sent yet.
    private var halted: Outcome?

    /// - Precondition: the batch is not empty.
    init(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim, format: HTTPOptions.Format) {
        self.batch = batch
        self.format = format
        self.claim = consume claim
        outcomes = Array(repeating: nil, count: batch.requests(format))
    }

    /// The next request to send, nil: no more. Each must be told of with `finish`.
    func takeRequest() -> Int? {
        guard halted == nil, next < outcomes.count else { return nil }
        defer { next += 1 }
        underWay += 1
        return next
    }

    func body(of request: Int) -> [UInt8] { batch.body(of: request, format) }

    /// - Parameter haltsOthers: the outcome holds for what was not sent yet, too.
    func finish(_ request: Int, _ outcome: Outcome, haltsOthers: Bool) {
        outcomes[request] = format == .single ? outcome.ofSingleEvent : outcome
        underWay -= 1
        if haltsOthers && halted == nil { halted = outcome }
        if underWay == 0 && (halted != nil || next == outcomes.count) { settle() }
    }

    /// Gives the rest back unsent, and settles.
    func abandon(_ reason: String) {
        if halted == nil { halted = .retry(reason: reason) }
        settle()
    }

    private func settle() {
        guard let claim = claim.take() else { return }
        let rest = halted ?? .retry(reason: "not sent")
        if format == .single {
            claim.settle(.each(outcomes.map { $0 ?? rest }))
        } else {
            claim.settle(.all((outcomes.first ?? nil) ?? rest))
        }
    }
}

extension Outcome {
    /// A request with one event cannot be halved.
    fileprivate var ofSingleEvent: Outcome {
        if case .tooLarge(let reason) = self { .rejected(reason: reason) } else { self }
    }
}
