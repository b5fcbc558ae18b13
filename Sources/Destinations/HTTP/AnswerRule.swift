import Delivery

/// How a service's answers are to be read: data, so that a service can be described without code.
/// The first rule that an answer meets decides; where none does, `HTTPAnswer`'s table.
package struct AnswerRule: Sendable, Equatable {
    /// What an answer means for events.
    package enum Verdict: String, Sendable, CaseIterable {
        case delivered, retry, rejected
        /// Something in the request is at fault: it goes again in halves, down to the one event.
        case split
        /// The destination's credential or account: it is held.
        case hold
    }

    /// A word by which a service says what became of one event: `409`, `4xx`, `INVALID_ARGUMENT`.
    package enum Code: Sendable, Equatable {
        case text(String)
        case range(ClosedRange<Int>)
        /// The item says nothing there.
        case absent
    }

    /// A value that a JSON answer has to have.
    package struct Condition: Sendable, Equatable {
        package var path: AnswerPath
        /// As `AnswerJSON.scalar` gives it; nil: it has to be absent or null.
        package var value: String?

        package init(path: AnswerPath, value: String?) {
            self.path = path
            self.value = value
        }
    }

    /// An answer that says for each event, or for some, what became of it.
    package struct Items: Sendable, Equatable {
        /// Lists of items, one or more; what else a path leads to counts as one item.
        package var lists: [AnswerPath]
        /// In an item: the event's number in the request, from 0. Without it and `id`, items are in
        /// the events' order, but an item that is a number is the event's.
        package var index: AnswerPath?
        /// In an item: the event's message id.
        package var id: AnswerPath?
        /// In an item: what became of it.
        package var code: AnswerPath?
        /// By code; an exact word is more than a range.
        package var verdicts: [Code: Verdict] = [:]
        /// What became of an item's event where no code says so.
        package var listed = Verdict.rejected
        /// And of events without an item.
        package var others = Verdict.retry

        package init(lists: [AnswerPath]) {
            self.lists = lists
        }
    }

    /// The answer's status is in one of these; none: whatever it is.
    package var statuses: [ClosedRange<Int>] = []
    /// The body holds one of these, as whole words; none: whatever it is.
    package var words: [String] = []
    /// The body is JSON, and all of these hold.
    package var conditions: [Condition] = []
    /// What it means, where `items` does not say more.
    package var verdict = Verdict.retry
    package var items: Items?
    /// Where the answer, or an item, says in seconds how long to wait.
    package var retryAfter: AnswerPath?
    /// How long to wait where the service does not say.
    package var wait: Duration?

    package init() {}
}

extension AnswerRule.Code: Hashable {}
