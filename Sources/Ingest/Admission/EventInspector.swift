import Events

/// Checks events against the tracking plan before they are stored (`plan:`). An event may pass, be rewritten or be
/// refused. Each event loop has its own inspector and uses it from its own thread only.
package protocol EventInspector: AnyObject {
    /// Starts a slice of events.
    /// - Returns: whether there is anything to check. The plan may have changed with a reload.
    func begin() -> Bool

    func inspect(_ json: Span<UInt8>, _ index: EventIndex) -> Inspection

    /// Appends the replacement for the event that `inspect` just reported as `.rewritten`: JSON on one line, without a
    /// line feed.
    func appendRewritten(to output: inout [UInt8])
}

package enum Inspection: Sendable, Equatable {
    case passes
    /// Passes unchanged and is counted.
    case noted(RefusalReason)
    /// Passes in a rewritten form and is counted.
    case rewritten(RefusalReason)
    case refused(Refusal)
}
