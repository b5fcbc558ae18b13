#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What one call says about an event besides its name and properties.
public struct EventDetails: Sendable {
    /// Whether the event is the start or the end of a timed event; nil if it is not timed.
    public var timing: EventTiming?
    /// The time at which the event happened; nil for the time of the call.
    public var date: Date?
    /// The event's id; nil for a new one. The daemon's deduplication, and most services, count events with the same id
    /// once.
    public var messageID: String?
    /// The file of the call, for diagnostics.
    public var fileID: StaticString
    /// The line of the call.
    public var line: UInt

    /// Creates the details of a call.
    public init(
        timing: EventTiming? = nil, at date: Date? = nil, messageID: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.timing = timing
        self.date = date
        self.messageID = messageID
        self.fileID = fileID
        self.line = line
    }

    /// The place of the call: `Shop/Checkout.swift:12`.
    public var callSite: String { site.description }

    var site: CallSite { CallSite(fileID, line) }
}
