import Platform

/// How events would be cut into batches, for whoever wants to see it beforehand.
package enum BatchForesight {
    /// The batches of events that come close together.
    /// - Parameter outputs: what the router has made of each event, in order; empty, where it made nothing.
    package static func batches(of outputs: [OutboundBatch], _ policy: DeliveryPolicy, _ limits: DestinationLimits) -> [OutboundBatch] {
        var builder = BatchBuilder(policy, limits)
        var batches: [OutboundBatch] = []
        for output in outputs where !output.events.isEmpty {
            for event in output.events { builder.batch.append(event, from: output) }
            builder.count(Instant(nanoseconds: 0))
            while let batch = builder.take(partial: false) { batches.append(batch) }
        }
        while let batch = builder.take(partial: true) { batches.append(batch) }
        return batches
    }
}
