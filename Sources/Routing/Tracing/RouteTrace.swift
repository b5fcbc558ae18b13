/// The way of one event to one destination, step by step, for whoever asks why it came out as it did.
package struct RouteTrace: Sendable {
    /// What the pipeline did, before any route was asked.
    package var pipeline: [Step] = []
    /// Each event that came out of the pipeline: one, unless it was dropped or made into several.
    package var ways: [Way] = []

    package struct Way: Sendable {
        /// As the routes see it.
        package var event: [UInt8]
        /// The routes that lead to the destination, in order, up to the one that took it.
        package var routes: [RouteAnswer] = []
        /// What the event says in `integrations`, if that keeps it away: JSON.
        package var forbiddingIntegrations: [UInt8]?
        package var steps: [Step] = []
        /// What steps have made of it, before the mapping; empty if it went no further.
        package var events: [[UInt8]] = []

        package var taker: RouteAnswer? { routes.last.flatMap { $0.filter.holds ? $0 : nil } }
    }

    package struct RouteAnswer: Sendable {
        package var name: String
        package var filter: FilterTrace
    }

    /// One transform, or the destination's own filter, at work on one event.
    package struct Step: Sendable {
        package enum Kind: Sendable {
            case transform(name: String)
            case filter
        }

        package enum Origin: String, Sendable { case pipeline, route, destination }

        package enum Outcome: Sendable, Equatable {
            /// What came of it, as JSON: one event, mostly.
            case passed([[UInt8]])
            case dropped
            case rejected(reason: String)
        }

        package var kind: Kind
        package var origin: Origin
        /// The transform's `where`, or the filter itself; nil: a transform for every event.
        package var condition: FilterTrace?
        package var before: [UInt8]
        package var outcome: Outcome

        /// The transform was not asked, since its `where` is false.
        package var isSkipped: Bool {
            if case .transform = kind { condition?.holds == false } else { false }
        }
    }
}
