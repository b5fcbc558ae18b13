/// What a destination that keeps events and a position outside the journal (a plugin with its store, a file) needs in
/// order to notice that these are ahead of the journal: they have events that the journal no longer has, because the
/// journal is an older copy, or because a power cut took its newest events. The journal gives the positions of such
/// events to new ones, so the destination must not take the new ones for the old.
///
/// The journal's end of now does not show it: new events move the end beyond the position of the store. So the end at
/// the start of the run is kept, durably, until the destination has compared its store with it. Any thread.
package protocol PositionBound: Sendable {
    /// The journal's UUID.
    var journal: [UInt8] { get }
    /// The journal's end of now.
    var now: UInt64 { get }
    /// The end to compare with: every event at this position or above is newer than what the store can have. Once the
    /// store is verified, this is the end of now.
    var end: UInt64 { get }
    /// Records that the store is not ahead of `end`. Returns when that is durable. Call it before the store takes
    /// events.
    func verify() throws
    /// Records that the store is ahead of this end. Returns when that is durable: no later start forgets it.
    func refuse(at end: UInt64) throws
}
