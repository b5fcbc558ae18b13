import Events
import NameSuggestion

/// The names of an event's top-level fields: those of Segment's specification, those that similar services add, and
/// those that the configuration itself writes.
package struct EventFieldNames: Sendable {
    /// https://segment.com/docs/connections/spec/common/, and the fields of each kind of event.
    private static let specified: Set<String> = [
        "type", "event", "name", "category", "userId", "anonymousId", "groupId", "previousId", "messageId", "timestamp",
        "originalTimestamp", "sentAt", "receivedAt", "properties", "traits", "context", "integrations", "version",
        "channel",
        "writeKey", "projectId", "_metadata", "rudderId", "request_ip",
    ]
    /// In the order in which messages list them.
    static let common = [
        "type", "event", "userId", "anonymousId", "messageId", "timestamp", "properties", "traits", "context",
    ]

    private var names = specified

    package init() {}

    package func knows(_ name: String) -> Bool { names.contains(name) }

    /// The known name that was probably meant.
    package func nearest(_ name: String) -> String? { NearestName.find(name, among: names.sorted()) }

    /// Adds a name that a transform writes. Ignores a name that is close to a known one: it is probably a typo.
    package mutating func insert(_ name: String) {
        if nearest(name) == nil { names.insert(name) }
    }

    /// Adds every word of a script, which may write a field of any such name.
    package mutating func insert(wordsOf script: String) {
        for word in script.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }) {
            names.insert(String(word))
        }
    }
}
