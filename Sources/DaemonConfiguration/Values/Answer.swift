extension Configuration {
    /// A rule that reads a service's responses, as written. The first rule that matches decides.
    package struct Answer: Sendable, Equatable {
        /// What a response means for the events.
        package enum Verdict: String, Sendable, CaseIterable { case delivered, retry, rejected, split, hold }

        /// A service's code for the result of one event.
        package enum Code: Sendable, Hashable {
            case text(String)
            case range(ClosedRange<Int>)
            case absent
        }

        package struct Items: Sendable, Equatable {
            package var lists: [String] = []
            package var index: String?
            package var id: String?
            package var code: String?
            package var verdicts: [Code: Verdict] = [:]
            package var listed = Verdict.rejected
            package var others = Verdict.retry
        }

        package struct Condition: Sendable, Equatable {
            package var path: String
            /// nil: absent or null.
            package var value: String?
        }

        package var statuses: [ClosedRange<Int>] = []
        package var words: [String] = []
        package var conditions: [Condition] = []
        /// nil only if there are `items`.
        package var verdict: Verdict?
        package var items: Items?
        package var retryAfter: String?
        package var wait: Duration?
    }
}
