/// What happens to an event at a destination under one configuration.
enum EventOutcome: Equatable {
    /// The destination does not get it, for this reason (`no_route`, `where`, a transform's name …).
    case nothing(reason: String)
    /// The destination gets it.
    case sent
    /// The event, or a part of it, becomes a dead letter.
    case deadLetter(reason: String)
}

/// The difference that a new configuration makes for one event at one destination.
package enum EventVerdict: String, Codable, Sendable, CaseIterable {
    /// The destination gets what it gets now, or the event is a dead letter before and after.
    case same
    /// The destination gets the event, which it does not get now.
    case added
    /// The destination no longer gets the event; or the event is a dead letter now, and would be left out.
    case lost
    /// The destination gets something else for the event.
    case changed
    /// The event becomes a dead letter.
    case deadLetter = "dead_letter"

    /// - Parameter outputsDiffer: whether the two outputs differ, if the destination gets the event before and after.
    /// - Returns: nil: the event concerns neither side.
    init?(_ old: EventOutcome, _ new: EventOutcome, outputsDiffer: Bool) {
        switch (old, new) {
        case (.nothing, .nothing): return nil
        case (.deadLetter, .deadLetter): self = .same
        case (_, .deadLetter): self = .deadLetter
        case (.sent, .sent): self = outputsDiffer ? .changed : .same
        case (_, .sent): self = .added
        case (_, .nothing): self = .lost
        }
    }
}
