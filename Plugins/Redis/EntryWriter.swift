import EventTemplates
import Events
import PenstockPluginKit

/// Writes events as commands that append to streams.
final class EntryWriter {
    private let key: EventTemplate
    let maximumLength: Int?
    private let fields = EventFields()
    /// The number of the field `event`.
    private let name: Int

    /// Whether all entries are in one stream.
    var hasOneStream: Bool { key.isFixed }

    /// - Throws: an error that names the setting.
    init(_ settings: RedisSettings) throws(SinkError) {
        key = try EventTemplate(settings.stream, setting: "stream", fields: fields)
        name = fields.add(FieldPath(["event"]))
        maximumLength = settings.maxLength
    }

    /// Whether the event's own key is at fault. A fixed key is the operator's fault, and holds back all events.
    func isFault(ofEvent error: RedisError) -> Bool { error.kind == .key && !hasOneStream }

    /// Every entry has the same fields, in this order: Redis then stores their names once for many entries. A missing
    /// value is an empty text.
    func append(_ event: Event, to request: inout RedisRequest) {
        event.withPayload { payload in
            fields.read(payload)
            request.command(maximumLength == nil ? 15 : 18)
            request.argument("XADD")
            request.argument(key(of: event, payload))
            if let maximumLength {
                request.argument("MAXLEN")
                request.argument("~")
                request.argument(String(maximumLength))
            }
            request.argument("*")
            request.argument("position")
            request.argument(String(event.position))
            request.argument("part")
            request.argument(String(event.part))
            request.argument("message_id")
            request.argument(messageID(of: event))
            request.argument("kind")
            request.argument(event.kindName)
            request.argument("event")
            request.argument(eventName(in: payload))
            request.argument("payload")
            request.argument(payload)
        }
    }

    /// Reads the event's key and the values of its entry.
    /// - Parameter body: gets the key, and what appends the values to a request.
    func read(_ event: Event, _ body: (_ key: [UInt8], _ values: (inout RedisRequest) -> Void) -> Void) {
        event.withPayload { payload in
            fields.read(payload)
            body(key(of: event, payload)) { request in
                request.argument(String(event.position))
                request.argument(String(event.part))
                request.argument(messageID(of: event))
                request.argument(event.kindName)
                request.argument(eventName(in: payload))
                request.argument(payload)
            }
        }
    }

    private func key(of event: Event, _ payload: Span<UInt8>) -> [UInt8] {
        var key: [UInt8] = []
        self.key.append(kind: event.kindName, payload, fields, to: &key) { $1.append(contentsOf: $0) }
        return key
    }

    private func messageID(of event: Event) -> [UInt8] {
        var id: [UInt8] = []
        event.appendMessageID(to: &id)
        return id
    }

    private func eventName(in payload: Span<UInt8>) -> [UInt8] {
        var name: [UInt8] = []
        _ = fields[self.name].appendText(from: payload, to: &name)
        return name
    }
}
