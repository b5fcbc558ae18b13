import Delivery

/// A rule that reads a service's responses. Rules are data, so a service can be described without code. The first rule
/// that matches a response decides; if none matches, `HTTPResponse`'s table does.
package struct ResponseRule: Sendable, Equatable {
    /// What a response means for the events.
    package enum Verdict: String, Sendable, CaseIterable {
        case delivered, retry, rejected
        /// The request holds an event at fault: the batch is retried in halves, down to the single event.
        case split
        /// The destination's credential or account is at fault: the destination is held.
        case hold
    }

    /// A service's code for the result of one event: `409`, `4xx`, `INVALID_ARGUMENT`.
    package enum Code: Sendable, Equatable {
        case text(String)
        case range(ClosedRange<Int>)
        /// The item has no code.
        case absent
    }

    /// A value that a JSON response must have.
    package struct Condition: Sendable, Equatable {
        package var path: ResponsePath
        /// As `JSONDocument.scalar` returns it; nil: it must be absent or null.
        package var value: String?

        package init(path: ResponsePath, value: String?) {
            self.path = path
            self.value = value
        }
    }

    /// Describes a response that reports the result of each event, or of some.
    package struct Items: Sendable, Equatable {
        /// Paths of one or more lists of items. A value that is no list counts as one item.
        package var lists: [ResponsePath]
        /// The path, in an item, of the event's index in the request, from 0. Without this and `id`, items are in the
        /// order of the events, except that an item that is a number is an event's index.
        package var index: ResponsePath?
        /// The path, in an item, of the event's message id.
        package var id: ResponsePath?
        /// The path, in an item, of the event's result code.
        package var code: ResponsePath?
        /// Verdicts by code. An exact code takes precedence over a range.
        package var verdicts: [Code: Verdict] = [:]
        /// The verdict for an item whose code is not in `verdicts`.
        package var listed = Verdict.rejected
        /// The verdict for events without an item.
        package var others = Verdict.retry

        package init(lists: [ResponsePath]) {
            self.lists = lists
        }
    }

    /// The response's status must be in one of these ranges; empty: any status.
    package var statuses: [ClosedRange<Int>] = []
    /// The body must hold one of these as a whole word; empty: any body.
    package var words: [String] = []
    /// The body must be JSON that meets all of these.
    package var conditions: [Condition] = []
    /// The verdict for all events, unless `items` reports more.
    package var verdict = Verdict.retry
    package var items: Items?
    /// The path of the seconds to wait, in an item or in the response.
    package var retryAfter: ResponsePath?
    /// How long to wait if the service does not say.
    package var wait: Duration?

    package init() {}
}

extension ResponseRule.Code: Hashable {}
