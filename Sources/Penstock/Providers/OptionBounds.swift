/// Options are clamped to the nearest valid value, so that no value can crash the process: a wait of 300 years becomes
/// one of a year, a batch of no events becomes one of a single event.
extension Duration {
    package func held(in bounds: ClosedRange<Duration>) -> Duration {
        min(max(self, bounds.lowerBound), bounds.upperBound)
    }

    /// The longest wait of a provider. It is far below the point where clock arithmetic overflows.
    fileprivate static var longestWait: Duration { .seconds(365 * 86_400) }

    /// The longest delay of the end of a process. A service manager kills a process that takes longer than its own
    /// timeout, which is 90 s in systemd.
    private static var longestExit: Duration { .seconds(60) }

    package var heldAtExit: Duration { held(in: .zero ... .longestExit) }

    package var heldAsWait: Duration { held(in: .zero ... .longestWait) }
}

extension ClosedRange<Duration> {
    package var heldAsWaits: ClosedRange<Duration> { lowerBound.heldAsWait...upperBound.heldAsWait }
}

extension DaemonProvider.Options {
    var held: Self {
        var held = self
        held.spoolBytes = max(0, spoolBytes)
        held.spoolSegmentBytes = max(1, spoolSegmentBytes)
        held.queueEvents = max(0, queueEvents)
        held.queueBytes = max(0, queueBytes)
        held.reconnectDelay = reconnectDelay.heldAsWaits
        held.lingerTime = lingerTime.heldAsWait
        held.adoptionInterval = adoptionInterval.heldAsWait
        held.closingTimeout = closingTimeout.heldAsWait
        held.exitTimeout = exitTimeout.heldAtExit
        return held
    }
}
