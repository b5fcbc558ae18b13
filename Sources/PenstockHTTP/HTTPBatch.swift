#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Penstock

/// The body of a request to `/v1/batch`: the recorded events, and the time at which they are sent, which the service
/// uses to correct a wrong clock.
enum HTTPBatch {
    /// The maximum size of the body in bytes without its events.
    static let overhead = 64

    static func body(_ lines: ArraySlice<[UInt8]>, sentAt: Date) -> [UInt8] {
        var text = JSONText()
        text.bytes.reserveCapacity(lines.reduce(overhead) { $0 + $1.count + 1 })
        text.append("{\"batch\":[")
        for (index, line) in lines.enumerated() {
            if index > 0 { text.append(byte: ",") }
            text.bytes.append(contentsOf: line)
        }
        text.append("],\"sentAt\":\"")
        _ = RFC3339.append(sentAt, to: &text)
        text.append("\"}")
        return text.bytes
    }
}
