import Delivery
import Events

/// Events that plugins stumble over, one kind after the other.
enum ConformanceEvents {
    /// - Parameters:
    ///   - positions: ascending; each decides what its event is like.
    ///   - padding: bytes to add to each event.
    static func batch(_ positions: [UInt64], attempt: UInt32, padding: Int, isReplay: Bool) -> OutboundBatch {
        var batch = OutboundBatch()
        for position in positions {
            let id = "conformance-\(position)"
            let (kind, json, hasID) = event(position, id: id, padding: padding)
            let start = batch.payload.count
            batch.payload += json.utf8
            let end = batch.payload.count
            batch.payload.append(UInt8(ascii: "\n"))
            let place = hasID ? json.utf8.count - id.utf8.count - 2 : 0
            batch.events.append(
                OutboundEvent(
                    position: position, receivedAt: Int64(position) &* 1_000_000_000, kind: kind, attempt: attempt,
                    payload: start..<end,
                    messageID: hasID ? start + place..<start + place + id.utf8.count : end..<end))
        }
        if isReplay { batch.livePosition = (positions.last ?? 0) + 1_000_000 }
        return batch
    }

    /// The message id, if there is one, ends the text: `"messageId":"ID"}`.
    private static func event(_ position: UInt64, id: String, padding: Int) -> (EventKind, String, hasID: Bool) {
        let pad = String(repeating: "x", count: padding)
        let tail = #""messageId":"\#(id)"}"#
        return switch position % 8 {
        case 0: (.track, #"{"type":"track","event":"Order Completed","userId":"ada","pad":"\#(pad)",\#(tail)"#, true)
        case 1: (.identify, #"{"type":"identify","userId":"a\u0000b","traits":{"plan":null},\#(tail)"#, true)
        case 2: (.page, #"{"type":"page","name":"Ünïcödé 🌊 \"quoted\" \\ \u2028",\#(tail)"#, true)
        case 3: (.screen, #"{"type":"screen","anonymousId":"","properties":{"":{"":[[],{}]}},\#(tail)"#, true)
        case 4: (.group, #"{"type":"group","groupId":18446744073709551615,"n":-1.5e308,\#(tail)"#, true)
        case 5: (.alias, "{}", false)
        case 6: (.track, "[1,true,null]", false)
        default:
            (.track, #"{"type":"track","event":"\#(String(repeating: "long ", count: 2000))",\#(tail)"#, true)
        }
    }
}
