import EventTemplates
import Events
import Glibc
import PenstockPluginKit

/// One instance of the plugin. All work happens on the host's worker, inside its calls.
final class JournaldSink: BlockingSink {
    static let plugin = Plugin(
        name: "journald", version: "1.0", summary: "Writes events to the journal of systemd, and reads its entries",
        schema: JournaldSettings.schema, needs: "unix")

    /// The longest event name and user id in MESSAGE, in characters. EVENT and USER_ID are whole.
    private static let shown = 100

    /// The fields that every entry may have. `json`: an object or array is written as JSON; without it, the field is
    /// left out.
    private static let common = [
        (name: "EVENT", path: FieldPath(["event"]), json: false), ("USER_ID", FieldPath(["userId"]), false),
        ("NAME", FieldPath(["name"]), false), ("ANONYMOUS_ID", FieldPath(["anonymousId"]), false),
        ("GROUP_ID", FieldPath(["groupId"]), false), ("TIMESTAMP", FieldPath(["timestamp"]), false),
        ("PROPERTIES", FieldPath(["properties"]), true), ("TRAITS", FieldPath(["traits"]), true),
    ]

    private let host: Host
    private let settings: JournaldSettings
    private let fields = EventFields()
    /// The name of each field of an entry, the number of its value's field, and `json` as in `common`.
    private let values: [(name: String, field: Int, json: Bool)]
    private var entry = JournalEntry()

    init(settings: JournaldSettings, host: Host) throws {
        guard settings.identifier?.contains(where: { "\n\0".contains($0) }) != true else {
            throw SinkError("settings.identifier: must be one line of text")
        }
        self.host = host
        self.settings = settings
        let more = try settings.validatedFields().map { (name: $0.name, path: $0.path, json: true) }
        let fields = fields
        values = (Self.common + more).map { ($0.name, fields.add($0.path), $0.json) }
    }

    /// The order of entries is that of the events.
    var limits: Limits { Limits(maxInFlight: 1, maxBatchEvents: 1000, maxBatchBytes: 8 << 20) }

    func connect() throws {
        if let problem = JournalSocket.problem { throw SinkError("journald does not run: \(problem)") }
    }

    func deliver(_ batch: Batch) throws -> [Outcome] {
        // Without a journald the library reports success, so the socket is tried before and after.
        try connect()
        var outcomes: [Outcome] = []
        for event in batch {
            fill(event)
            let status = entry.send()
            guard status != 0 else {
                outcomes.append(.delivered)
                continue
            }
            let reason = unsafe "journald: \(String(cString: strerror(status)))"
            let isTooLarge = [EMSGSIZE, E2BIG, EFBIG].contains(status)
            outcomes.append(isTooLarge ? .rejected(reason: reason) : .retry(reason: reason))
            // The rest is offered again, in order.
            if !isTooLarge { break }
        }
        if let problem = JournalSocket.problem {
            return batch.map { _ in .retry(reason: "journald does not run any more: \(problem)") }
        }
        host.count("journald_entries", by: UInt64(outcomes.count { $0 == .delivered }))
        return outcomes
    }

    private func fill(_ event: Event) {
        event.withPayload { payload in
            fields.read(payload)
            entry.removeAll()
            entry.add("MESSAGE", message(of: event, payload))
            entry.add("PRIORITY", String(settings.priorityNumber))
            entry.add("SYSLOG_IDENTIFIER", settings.identifier ?? "penstock")
            entry.add("KIND", event.kindName)
            for value in values {
                entry.add(value.name) { bytes in append(fields[value.field], of: payload, value.json, to: &bytes) }
            }
            entry.add("PENSTOCK_MESSAGE_ID") { bytes in
                let start = bytes.count
                event.appendMessageID(to: &bytes)
                return bytes.count > start
            }
            entry.add("PENSTOCK_POSITION", String(event.position))
            entry.add("PENSTOCK_PART", String(event.part))
            entry.add("PENSTOCK_RECEIVED_USEC", String(event.receivedAt / 1000))
            entry.add("PENSTOCK_DESTINATION", host.destination)
            // What a mapping made of the event may have none of the fields above.
            if settings.payload ?? false || payload.isEmpty || payload[0] != UInt8(ascii: "{") {
                entry.add("PAYLOAD") { bytes in
                    bytes.append(contentsOf: payload)
                    return true
                }
            }
        }
    }

    private func append(
        _ value: FieldValue, of payload: Span<UInt8>, _ isJSON: Bool, to bytes: inout [UInt8]
    ) -> Bool {
        if value.appendText(from: payload, to: &bytes) { return true }
        guard isJSON, value.type != .null, let range = value.json else { return false }
        bytes.append(contentsOf: payload.extracting(range))
        return true
    }

    /// Such as `track Order Completed, user ada`.
    private func message(of event: Event, _ payload: Span<UInt8>) -> String {
        func text(_ name: String) -> String? {
            guard let field = values.first(where: { $0.name == name })?.field else { return nil }
            return fields[field].text(from: payload).map { String($0.prefix(Self.shown)) }
        }
        var message = event.kindName
        if let name = text("EVENT") ?? text("NAME"), !name.isEmpty { message += " \(name)" }
        if let user = text("USER_ID"), !user.isEmpty { message += ", user \(user)" }
        return message
    }
}
