/// The answer to `GET /history`: what was accepted and delivered in the last hour, in steps of equal length. A step
/// that the daemon has not seen is not in the report.
package struct HistoryReport: Codable, Sendable, Equatable {
    /// One figure over time.
    package struct Series: Codable, Sendable, Equatable {
        package enum Owner: String, Codable, Sendable { case source, destination }

        package var owner: Owner
        /// The name of the source or of the destination.
        package var name: String
        /// What is counted: `accepted`, `refused`, `delivered`, `filtered`, `dead_lettered`, `retries`; or `lag`, the
        /// number of events at the step's end.
        package var figure: String
        /// Of `refused` and `filtered`.
        package var reason: String?
        /// The number in each step.
        package var values: [UInt64]

        package init(owner: Owner, name: String, figure: String, reason: String?, values: [UInt64]) {
            self.owner = owner
            self.name = name
            self.figure = figure
            self.reason = reason
            self.values = values
        }
    }

    package var stepSeconds: Double
    /// The number of the first step in the report, from 0 at the daemon's start.
    package var first: UInt64
    /// The number of the next step, which is not in the report. Ask for `/history?from=NEXT` to get only new steps.
    package var next: UInt64
    /// When the last step ended (RFC 3339).
    package var end: String
    package var series: [Series]
    /// Figures that are not kept, because there are too many.
    package var omitted: Int

    package init(stepSeconds: Double, first: UInt64, next: UInt64, end: String, series: [Series], omitted: Int) {
        self.stepSeconds = stepSeconds
        self.first = first
        self.next = next
        self.end = end
        self.series = series
        self.omitted = omitted
    }

    enum CodingKeys: String, CodingKey {
        case first, next, end, series, omitted
        case stepSeconds = "step_seconds"
    }
}
