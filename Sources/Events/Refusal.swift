/// Why an event was refused. The raw value is the name in answers to clients, in counters and in `penstock status`. It
/// is Segment's name if Segment has one.
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
    // HTTP requests.
    case invalidRequest = "invalid_request"
    case unknownWriteKey = "unknown_write_key"
    // A source's limits, named by their configuration keys.
    case maximumConnectionsPerUser = "max_connections_per_uid"
    case maximumConsecutiveRefusals = "max_consecutive_refusals"
    case maximumBuffered = "max_buffered"
    case lineTimeout = "line_timeout"
    case idleTimeout = "idle_timeout"

    /// Whether the daemon closes the client's connection after this refusal.
    package var endsConnection: Bool {
        switch self {
        case .maximumConnectionsPerUser, .maximumConsecutiveRefusals, .maximumBuffered, .lineTimeout, .idleTimeout: true
        default: false
        }
    }
}

/// One refused event: the reason, and an explanation for the sender.
package struct Refusal: Sendable, Equatable {
    package var reason: RefusalReason
    /// One sentence for the sender that names the offending field and says what to do. Never contains a whole event.
    package var detail: String
    /// The event's `messageId`, if it could be read.
    package var messageID: String?

    package init(reason: RefusalReason, detail: String, messageID: String? = nil) {
        self.reason = reason
        self.detail = detail
        self.messageID = messageID
    }
}
