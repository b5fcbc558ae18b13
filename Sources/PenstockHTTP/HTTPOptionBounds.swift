import Penstock

extension HTTPProvider.Options {
    var held: Self {
        var held = self
        held.batchEvents = max(1, batchEvents)
        held.batchBytes = max(1, batchBytes)
        held.eventBytes = max(0, eventBytes)
        held.spoolBytes = max(0, spoolBytes)
        held.spoolSegmentBytes = max(1, spoolSegmentBytes)
        held.adoptionInterval = adoptionInterval.heldAsWait
        held.closingTimeout = closingTimeout.heldAsWait
        held.queueEvents = max(0, queueEvents)
        held.queueBytes = max(0, queueBytes)
        held.flushInterval = flushInterval.heldAsWait
        held.retryDelay = retryDelay.heldAsWaits
        held.exitTimeout = exitTimeout.heldAtExit
        // URLSession treats 0 as no timeout.
        held.timeout = timeout.held(in: .milliseconds(1) ... .seconds(86_400))
        return held
    }
}
