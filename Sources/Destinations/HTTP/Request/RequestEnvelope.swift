import Delivery
import Events

/// The part of an event that describes the request it needs: the kind of request, the values for its URL and headers,
/// and the text around the events in its body. Events with equal envelopes can share a request.
///
/// Its format is a JSON list, `[0,"u-1",{"batch":…}]`, in which one byte that JSON does not allow stands for the
/// events.
struct RequestEnvelope {
    /// An index into the destination's kinds of request.
    var number: Int
    /// The contents of JSON strings, in order.
    var values: [Range<Int>] = []
    /// The text around the events, without the placeholder byte; nil: no text.
    var body: (before: Range<Int>, after: Range<Int>)?

    /// - Parameter range: the envelope's place in `bytes`, its final byte included.
    /// - Returns: nil: not an envelope, which cannot happen with the router's output.
    init?(_ bytes: [UInt8], _ range: Range<Int>) {
        var next = range.lowerBound + 1
        let end = range.upperBound - 2
        guard next < end, bytes[range.lowerBound] == UInt8(ascii: "["), bytes[end] == UInt8(ascii: "]") else {
            return nil
        }
        number = 0
        while next < end, bytes[next] != UInt8(ascii: ",") {
            guard let digit = Int(exactly: bytes[next])?.advanced(by: -0x30), (0...9).contains(digit), number < 1_000
            else { return nil }
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
