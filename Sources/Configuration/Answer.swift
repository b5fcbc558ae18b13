extension Configuration {
    /// A rule for reading a service's answers, as written. The first one that an answer meets
    /// decides.
    package struct Answer: Sendable, Equatable {
        /// What an answer means for events.
        package enum Verdict: String, Sendable, CaseIterable { case delivered, retry, rejected, split, hold }

        /// What a service calls the fate of one event.
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
            /// nil: absent, or null.
            package var value: String?
        }

        package var statuses: [ClosedRange<Int>] = []
        package var words: [String] = []
        package var conditions: [Condition] = []
        /// nil only where there are `items`.
        package var verdict: Verdict?
        package var items: Items?
        package var retryAfter: String?
        package var wait: Duration?
    }
}
