import Delivery
import Events

/// What an event's envelope says about the request that it wants: which of the destination's, the values
/// in its URL and headers, and the text that goes around the events in its body. Events whose envelopes are
/// equal can go together.
///
/// It is written as a JSON list, `[0,"u-1",{"batch":…}]`, in which one byte that JSON does not know
/// stands for the events.
struct RequestEnvelope {
    /// A number among the destination's requests.
    var number: Int
    /// Contents of JSON strings, one after the other.
    var values: [Range<Int>] = []
    /// What goes around the events, without the byte that stands for them; nil: nothing.
    var body: (before: Range<Int>, after: Range<Int>)?

    /// - Parameter range: where it lies in `bytes`, with the byte that ends it.
    /// - Returns: nil: this is none, which cannot be where the router wrote it.
    init?(_ bytes: [UInt8], _ range: Range<Int>) {
        var next = range.lowerBound + 1
        let end = range.upperBound - 2
        guard next < end, bytes[range.lowerBound] == UInt8(ascii: "["), bytes[end] == UInt8(ascii: "]") else { return nil }
        number = 0
        while next < end, bytes[next] != UInt8(ascii: ",") {
            guard let digit = Int(exactly: bytes[next])?.advanced(by: -0x30), (0...9).contains(digit), number < 1_000 else { return nil }
            number = number * 10 + digit
            next += 1
        }
        while next + 1 < end, bytes[next] == UInt8(ascii: ","), bytes[next + 1] == UInt8(ascii: "\"") {
            let start = next + 2
            next = start
            while next < end, bytes[next] != UInt8(ascii: "\"") { next += bytes[next] == UInt8(ascii: "\\") ? 2 : 1 }
            guard next < end else { return nil }
            values.append(start..<next)
            next += 1
        }
        guard next < end else { return }
        guard let mark = bytes[next + 1..<end].firstIndex(of: HTTPOptions.eventsMark) else { return nil }
        body = (next + 1..<mark, mark + 1..<end)
    }
}
