import Events

/// The events of one request.
package struct EventLines: Sendable {
    /// Each event as JSON on one line, which ends with a line feed.
    package var bytes: [UInt8] = []
    /// For each line, its item: the index of the event in the request, from 0.
    package var items: [Int] = []
    /// Items that became no line, in their order.
    package var refused: [(item: Int, refusal: Refusal)] = []

    package init() {}

    /// How many events the request has.
    package var count: Int { items.count + refused.count }
}

/// Why none of a request's events can be accepted.
package struct RequestProblem: Error, Sendable, Equatable {
    package var reason: RefusalReason
    /// One sentence for the sender that says where, what and what to do. Never contains the whole request.
    package var detail: String

    package init(_ reason: RefusalReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}
