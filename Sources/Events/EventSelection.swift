/// Says which events a destination can need, by what the index holds. A reader that asks it leaves the others out, so
/// that they cost no more than a look at their record. Any thread.
package protocol EventSelection: AnyObject, Sendable {
    /// The reason for which the events that are left out are counted as filtered.
    var reason: String { get }

    /// False is certain: the event would be filtered for `reason`. True is not.
    /// - Parameter json: the event's bytes.
    func mayTake(_ index: EventIndex, _ json: Span<UInt8>) -> Bool
}
