/// Is told the position of events before they can become durable.
package protocol AppendWitness: AnyObject {
    /// The events that the caller is appending will be durable at `end`, or never. Called on the appending thread,
    /// under the journal's lock: it must return at once.
    func willQueue(upTo end: UInt64)
}
