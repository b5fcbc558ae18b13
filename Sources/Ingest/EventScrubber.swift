import Events

/// Takes out of an event what must not even be stored (`scrub:`). Made for each event loop, and used on
/// it alone.
package protocol EventScrubber: AnyObject {
    /// Appends the event without it to `output`: JSON on one line, no line feed.
    /// - Returns: why the event cannot be scrubbed, and is to be refused; nil: it was appended.
    func scrub(_ json: Span<UInt8>, _ index: EventIndex, into output: inout [UInt8]) -> String?
}
