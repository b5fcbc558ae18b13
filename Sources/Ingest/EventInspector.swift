import Events

/// Looks at events before they are stored (`plan:`): not every one may pass as it came. Made for each
/// event loop, and used on it alone.
package protocol EventInspector: AnyObject {
    /// A slice of events has come.
    /// - Returns: whether there is anything to look for. What it is may have changed with a reload.
    func begin() -> Bool

    func inspect(_ json: Span<UInt8>, _ index: EventIndex) -> Inspection

    /// Appends what the event is to be stored as that was just found to be `.rewritten`: JSON on one
    /// line, no line feed.
    func appendRewritten(to output: inout [UInt8])
}

package enum Inspection: Sendable, Equatable {
    case passes
    /// Passes as it is, and is counted.
    case noted(RefusalReason)
    /// Passes otherwise than it came, and is counted.
    case rewritten(RefusalReason)
    case refused(Refusal)
}
