import Events

/// All that happened to one event on its way to one destination, and why.
package struct RouteTrace: Sendable {
    /// What the pipeline did, step by step.
    package var pipeline: [StepTrace] = []
    /// Nil: the pipeline left something over.
    package var pipelineVerdict: DestinationRouter.Verdict?
    /// One for each event that the pipeline let through: one, if it did not split it.
    package var events: [EventTrace] = []
}

/// The way of an event behind the pipeline.
package struct EventTrace: Sendable {
    /// As the routes see it: JSON.
    package var event: String
    /// The routes that were asked, in order; the last one took the event, if any did.
    package var routes: [RouteAnswer] = []
    package var taker: RouteAnswer? { routes.last.flatMap { $0.filter.isTrue ? $0 : nil } }
    /// The key of the event's own `integrations` that forbids the destination.
    package var forbiddenBy: String?
    package var isForbidden: Bool { forbiddenBy != nil }
    /// The route's transforms, the destination's filter and its transforms.
    package var steps: [StepTrace] = []
    /// What the destination gets, without the message id that is added where there is none.
    package var results: [String] = []
}

package struct RouteAnswer: Sendable {
    package var name: String
    package var filter: FilterTrace
}

/// A transform, or the destination's filter, and one event.
package struct StepTrace: Sendable {
    package enum Outcome: Sendable, Equatable {
        /// Its `where` does not take the event.
        case passedOver
        /// What it made of the event: nothing but the same, another one, several.
        case made([String])
        case dropped
        case rejected(reason: String)
    }

    /// Whose it is.
    package enum Owner: String, Sendable { case pipeline, route, destination }

    /// The transform's name, or `where`.
    package var name: String
    package var owner: Owner
    /// The event's JSON.
    package var before: String
    package var outcome: Outcome
    /// Of the transform, if it has one, or the destination's.
    package var filter: FilterTrace?
    /// Events that came before may have decided.
    package var looksBack = false
}

/// A filter, or a part of one, and what it says about one event.
package struct FilterTrace: Sendable, Equatable {
    /// In the filter language.
    package var text: String
    package var isTrue: Bool
    /// The fields that it looks at, and what functions make of them. Of a part with parts, those have them.
    package var values: [Field] = []
    /// The operands of `and`, `or` and `!`.
    package var parts: [FilterTrace] = []

    package struct Field: Sendable, Equatable {
        /// `properties.total`, `length(properties.items)`.
        package var text: String
        /// nil: missing.
        package var json: String?

        package init(text: String, json: String?) {
            self.text = text
            self.json = json
        }
    }

    /// The smallest parts that made it say what it says: why it is false, or true.
    package var reasons: [FilterTrace] {
        guard !parts.isEmpty else { return [self] }
        let deciding = parts.count == 1 ? parts : parts.filter { $0.isTrue == isTrue }
        return deciding.flatMap(\.reasons)
    }
}
