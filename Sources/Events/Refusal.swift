/// Why an event was not taken. The raw value is the name that clients, counters and
/// `penstock status` show; where Segment has a name for it, it is Segment's.
package enum RefusalReason: String, Sendable, CaseIterable {
    case invalidJSON = "invalid_json"
    case invalidUTF8 = "invalid_utf8"
    case tooLarge = "too_large"
    case tooDeep = "too_deep"
    case notAnObject = "not_an_object"
    case noUserOrAnonymousID = "no_user_anon_id"
    case idNotString = "id_not_string"
    case unknownType = "unknown_type"
    case eventNotDefined = "event_not_defined"
    case eventNotString = "event_not_string"
    case groupIDNotDefined = "group_id_not_defined"
    case propertiesNotObject = "properties_not_object"
    case traitsNotObject = "traits_not_object"
    case contextNotObject = "context_not_object"
    case nameNotString = "name_not_string"
    case invalidTimestamp = "invalid_timestamp"
    case emptyBatch = "empty_batch"
    case rateLimited = "rate_limited"
    case notAllowed = "not_allowed"
    case journalFull = "journal_full"
    case unplanned = "unplanned"
    case schemaViolation = "schema_violation"
    // A source's limits, by the names that they have in the configuration.
    case maximumConnectionsPerUser = "max_connections_per_uid"
    case maximumConsecutiveRefusals = "max_consecutive_refusals"
    case maximumBuffered = "max_buffered"
    case lineTimeout = "line_timeout"
    case idleTimeout = "idle_timeout"

    /// The daemon closes the client's connection after this refusal.
    package var endsConnection: Bool {
        switch self {
        case .maximumConnectionsPerUser, .maximumConsecutiveRefusals, .maximumBuffered, .lineTimeout, .idleTimeout: true
        default: false
        }
    }
}

/// One event that was not taken: which, why, and what to do about it.
package struct Refusal: Sendable, Equatable {
    package var reason: RefusalReason
    /// A sentence for the sender, with the offending field's name; never a whole event.
    package var detail: String
    /// The event's `messageId`, if that much of it could be read.
    package var messageID: String?

    package init(reason: RefusalReason, detail: String, messageID: String? = nil) {
        self.reason = reason
        self.detail = detail
        self.messageID = messageID
    }
}
