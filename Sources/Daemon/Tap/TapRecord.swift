import Control
import Delivery
import Events
import Ingest

/// One line of a tap: a JSON object with the record's stage and what is known of the event, which comes last.
struct TapRecord {
    /// A larger event is left out, and `event_bytes` is its size. So is an event that is not JSON without its secrets.
    static let largestEvent = 256 << 10

    /// Without a line feed.
    private(set) var bytes: [UInt8]

    private init(_ stage: TapOrder.Stage) {
        bytes = Array(#"{"stage":""#.utf8)
        bytes.append(contentsOf: stage.rawValue.utf8)
        bytes.append(UInt8(ascii: "\""))
    }

    // MARK: The stages

    static func accepted(_ event: EventRecord, of batch: borrowing EventBatch) -> TapRecord {
        var record = TapRecord(.accepted)
        record.add("position", event.position)
        record.add("received_at", time: event.firstReceivedAt)
        if let origin = batch.origin(of: event) {
            record.add("source", origin.source)
            if let host = origin.host, !host.isEmpty { record.add("host", host) }
            if origin.hasPeer {
                record.begin("peer")
                record.bytes.append(
                    contentsOf: #"{"uid":\#(origin.uid),"gid":\#(origin.gid),"pid":\#(origin.pid)}"#.utf8)
            }
        }
        return record.ended(batch.text(of: event)[...], hiding: [])
    }

    /// - Parameter output: what the destination gets; nil: it does not get the event.
    static func routed(
        _ event: EventRecord, of batch: borrowing EventBatch, _ verdict: RouteVerdict, output: ArraySlice<UInt8>?,
        _ item: borrowing TapItem
    ) -> TapRecord {
        var record = TapRecord(.routed)
        record.add("destination", item.destination)
        record.add("position", event.position)
        record.add("received_at", time: event.firstReceivedAt)
        switch verdict {
        case .routed: record.add("outcome", "routed")
        case .filtered(let reason): record.add("filtered", reason, "", [])
        case .rejected(let reason): record.add("rejected", reason, "", [])
        }
        return record.ended(output ?? batch.text(of: event)[...], hiding: output == nil ? [] : item.secrets)
    }

    static func sent(
        _ event: OutboundEvent, of batch: borrowing OutboundBatch, _ outcome: Outcome, _ item: borrowing TapItem
    ) -> TapRecord {
        var record = TapRecord(.sent)
        record.add("destination", item.destination)
        record.add("position", event.position)
        if event.part > 0 { record.add("part", UInt64(event.part)) }
        record.add("received_at", time: event.firstReceivedAt)
        record.add("attempt", UInt64(event.attempt) + 1)
        // Events of a replay and retried dead letters.
        if batch.livePosition != nil { record.add("again", true) }
        switch outcome {
        case .delivered: record.add("outcome", "delivered")
        case .retry(let reason, _, let answer): record.add("retry", reason, answer, item.secrets)
        case .rejected(let reason, let answer): record.add("rejected", reason, answer, item.secrets)
        case .tooLarge(let reason, let answer): record.add("too_large", reason, answer, item.secrets)
        case .someRejected(let reason, let answer): record.add("some_rejected", reason, answer, item.secrets)
        case .hold(let reason, let answer): record.add("held", reason, answer, item.secrets)
        }
        return record.ended(batch.payload[event.payload], hiding: item.secrets)
    }

    static func deadLettered(_ letter: DeadLetter, _ item: borrowing TapItem) -> TapRecord {
        var record = TapRecord(.refused)
        record.add("destination", item.destination)
        record.add("position", letter.position)
        record.add("received_at", time: letter.firstReceivedAt)
        record.add("time", time: letter.refusedAt)
        record.add("attempts", UInt64(letter.attempts))
        record.add(nil, letter.reason, letter.answer, item.secrets)
        // Without an origin, it may be the rendered form.
        return record.ended(letter.event[...], hiding: letter.origin == nil ? item.secrets : [])
    }

    static func refused(_ refusal: SourceStatistics.RecentRefusal, by source: String) -> TapRecord {
        var record = TapRecord(.refused)
        record.add("source", source)
        record.add("time", time: refusal.time)
        record.add("reason", refusal.refusal.reason.rawValue)
        record.add("detail", refusal.refusal.detail)
        if let id = refusal.refusal.messageID { record.add("messageId", id) }
        record.bytes.append(UInt8(ascii: "}"))
        return record
    }

    // MARK: Members

    /// - Parameter name: a literal that needs no escapes.
    private mutating func begin(_ name: StaticString) {
        bytes.append(contentsOf: [UInt8(ascii: ","), UInt8(ascii: "\"")])
        bytes.append(contentsOf: name.description.utf8)
        bytes.append(contentsOf: [UInt8(ascii: "\""), UInt8(ascii: ":")])
    }

    private mutating func add(_ name: StaticString, _ text: String) {
        begin(name)
        JSONText.appendString(text, to: &bytes)
    }

    private mutating func add(_ name: StaticString, _ number: UInt64) {
        begin(name)
        bytes.append(contentsOf: String(number).utf8)
    }

    private mutating func add(_ name: StaticString, _ flag: Bool) {
        begin(name)
        bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    private mutating func add(_ name: StaticString, time: Int64) {
        begin(name)
        bytes.append(UInt8(ascii: "\""))
        Timestamp.append(time, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// - Parameter secrets: texts that the service may have echoed.
    private mutating func add(_ outcome: String?, _ reason: String, _ answer: String, _ secrets: [[UInt8]]) {
        if let outcome { add("outcome", outcome) }
        add("reason", String(decoding: Self.hide(secrets, in: reason.utf8), as: UTF8.self))
        if !answer.isEmpty { add("answer", String(decoding: Self.hide(secrets, in: answer.utf8), as: UTF8.self)) }
    }

    private static func hide(_ secrets: [[UInt8]], in text: some Sequence<UInt8>) -> [UInt8] {
        var shown = Array(text)
        // Longest first: one secret may be a part of another.
        for secret in secrets.sorted(by: { $0.count > $1.count }) where !secret.isEmpty {
            shown.replace(secret, with: Array("[hidden]".utf8))
        }
        return shown
    }

    /// The record with its event.
    private consuming func ended(_ event: ArraySlice<UInt8>, hiding secrets: [[UInt8]]) -> TapRecord {
        guard event.count <= Self.largestEvent else {
            add("event_bytes", UInt64(event.count))
            bytes.append(UInt8(ascii: "}"))
            return self
        }
        let start = bytes.count
        begin("event")
        if secrets.isEmpty {
            append(event)
        } else {
            let shown = Self.hide(secrets, in: event)
            // A secret may be a number that occurs elsewhere, too.
            guard Self.isJSON(shown) else {
                bytes.removeLast(bytes.count - start)
                add("event_bytes", UInt64(event.count))
                bytes.append(UInt8(ascii: "}"))
                return self
            }
            append(shown[...])
        }
        bytes.append(UInt8(ascii: "}"))
        return self
    }

    private static func isJSON(_ text: [UInt8]) -> Bool {
        do throws(JSONFault) {
            try JSONValidator().check((text + [UInt8(ascii: "\n")]).span)
            return true
        } catch {
            return false
        }
    }

    /// JSON may hold line feeds between its tokens, but a record is one line.
    private mutating func append(_ json: ArraySlice<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: json)
        for index in start..<bytes.count where bytes[index] == 0x0A || bytes[index] == 0x0D {
            bytes[index] = UInt8(ascii: " ")
        }
    }
}
