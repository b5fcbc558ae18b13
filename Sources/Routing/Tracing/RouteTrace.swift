import Events

/// Everything that happened to one event on its way to one destination, and why.
package struct RouteTrace: Sendable {
    /// The pipeline's steps, in order.
    package var pipeline: [StepTrace] = []
    /// Nil: at least one event passed the pipeline.
    package var pipelineVerdict: DestinationRouter.Verdict?
    /// One entry for each event that passed the pipeline: one, unless the pipeline split the event.
    package var events: [EventTrace] = []
}

/// The way of one event after the pipeline.
package struct EventTrace: Sendable {
    /// The event's JSON as the routes see it.
    package var event: String
    /// The routes that were tried, in order. If any matched, it is the last one.
    package var routes: [RouteAnswer] = []
    package var taker: RouteAnswer? { routes.last.flatMap { $0.filter.isTrue ? $0 : nil } }
    /// The key of the event's own `integrations` that forbids the destination.
    package var forbiddenBy: String?
    package var isForbidden: Bool { forbiddenBy != nil }
    /// The route's transforms, the destination's filter and the destination's transforms.
    package var steps: [StepTrace] = []
    /// The events that the destination gets, without the message id that is added to an event that has none.
    package var results: [String] = []
}

package struct RouteAnswer: Sendable {
    package var name: String
    package var filter: FilterTrace
}

/// One step, a transform or the destination's filter, for one event.
package struct StepTrace: Sendable {
    package enum Outcome: Sendable, Equatable {
        /// The step's `where` does not match the event.
        case passedOver
        /// The result of the step: the unchanged event, a changed one, or several.
        case made([String])
        case dropped
        case rejected(reason: String)
    }

    /// The part of the configuration that the step belongs to.
    package enum Owner: String, Sendable { case pipeline, route, destination }

    /// The transform's name, or `where`.
    package var name: String
    package var owner: Owner
    /// The event's JSON before the step.
    package var before: String
    package var outcome: Outcome
    /// The filter of the transform, if it has one, or of the destination.
    package var filter: FilterTrace?
    /// Earlier events may have affected the outcome.
    package var looksBack = false
}

/// A filter, or a part of one, and its result for one event.
package struct FilterTrace: Sendable, Equatable {
    /// The text in the filter language.
    package var text: String
    package var isTrue: Bool
    /// The fields that it reads, and the results of functions. Empty for a part that has parts: they hold the values.
    package var values: [Field] = []
    /// The operands of `and`, `or` and `!`.
    package var parts: [FilterTrace] = []

    package struct Field: Sendable, Equatable {
        /// `properties.total`, `length(properties.items)`.
        package var text: String
        /// Nil: the field is missing.
        package var json: String?

        package init(text: String, json: String?) {
            self.text = text
            self.json = json
        }
    }

    /// The smallest parts that decided the result: why it is false, or true.
    package var reasons: [FilterTrace] {
        guard !parts.isEmpty else { return [self] }
        let deciding = parts.count == 1 ? parts : parts.filter { $0.isTrue == isTrue }
        return deciding.flatMap(\.reasons)
    }
}
