#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The body of a request to `/v1/batch`: events as they were recorded, and the time at which they are sent, by which the other side
/// corrects a wrong clock.
enum HTTPBatch {
    /// What a body has around its events, at most.
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
