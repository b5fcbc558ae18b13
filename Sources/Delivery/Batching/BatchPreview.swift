import Platform

/// Shows how delivery would divide events into batches.
package enum BatchPreview {
    /// The batches for events that arrive close together.
    /// - Parameter outputs: the router's output for each event, in order; empty where it made none.
    package static func batches(of outputs: [OutboundBatch], _ policy: DeliveryPolicy, _ limits: DestinationLimits)
        -> [OutboundBatch]
    {
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
