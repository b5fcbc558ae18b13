#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Penstock

/// The body of a request to `/v1/batch`: the recorded events, and the time at which they are sent, which the service
/// uses to correct a wrong clock.
enum HTTPBatch {
    /// The maximum size of the body in bytes without its lines and their line feeds.
    static let overhead = 64

    /// - Parameter lines: Whole lines, each with its line feed.
    static func body(_ lines: [UInt8], sentAt: Date) -> [UInt8] {
        var text = JSONText()
        text.bytes.reserveCapacity(overhead + lines.count)
        text.append("{\"batch\":[")
        // A line feed inside an event would be escaped.
        for byte in lines.dropLast() { text.bytes.append(byte == UInt8(ascii: "\n") ? UInt8(ascii: ",") : byte) }
        text.append("],\"sentAt\":\"")
        _ = RFC3339.append(sentAt, to: &text)
        text.append("\"}")
        return text.bytes
    }
}

extension LineBlock {
    /// Keeps the first lines: at most this number, and of at most this size, but at least one.
    mutating func keep(lines most: Int, bytes limit: Int) {
        var (count, end) = (0, 0)
        while count < min(lines, max(1, most)) {
            let length = bytes[end...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 - end } ?? bytes.count - end
            if count > 0, end + length > limit { break }
            end += length
            count += 1
        }
        bytes.removeLast(bytes.count - end)
        lines = count
    }
}
