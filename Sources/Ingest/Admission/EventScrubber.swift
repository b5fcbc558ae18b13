import Events

/// Removes data that must never be stored from an event (`scrub:`). Each event loop has its own scrubber and uses it
/// from its own thread only.
package protocol EventScrubber: AnyObject {
    /// Appends the scrubbed event to `output`: JSON on one line, without a line feed.
    /// - Returns: nil on success; otherwise why the event cannot be scrubbed and must be refused.
    func scrub(_ json: Span<UInt8>, _ index: EventIndex, into output: inout [UInt8]) -> String?
}
