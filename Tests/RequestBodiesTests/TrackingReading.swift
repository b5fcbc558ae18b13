import Events
import RequestBodies

/// The events of a request, as the daemon sees them after the scan of their lines.
struct TrackingReading: Equatable {
    var lines: [String] = []
    var items: [Int] = []
    var refused: [RefusalReason] = []
    var details: [String] = []
    var messageIDs: [String?] = []
    var writeKey: String?

    static let limits = TrackingRequestReader.Limits(
        maximumEvents: 2500, maximumEventSize: 32 << 10, maximumDepth: 64, maximumBody: 500 << 10)

    init(
        _ body: [UInt8], _ endpoint: TrackingEndpoint, limits: TrackingRequestReader.Limits = limits,
        by reader: TrackingRequestReader? = nil
    ) throws(RequestProblem) {
        let reader = reader ?? TrackingRequestReader(limits: limits)
        let (found, key) = try reader.read(body.span, for: endpoint)
        writeKey = key
        items = found.items
        for (_, refusal) in found.refused {
            refused.append(refusal.reason)
            details.append(refusal.detail)
            messageIDs.append(refusal.messageID)
        }
        lines = String(decoding: found.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    init(
        _ body: String, _ endpoint: TrackingEndpoint = .batch, limits: TrackingRequestReader.Limits = limits
    ) throws(RequestProblem) {
        try self.init(Array(body.utf8), endpoint, limits: limits)
    }

    /// Why a body is refused as a whole; nil if it is not.
    static func problem(
        _ body: [UInt8], _ endpoint: TrackingEndpoint = .batch, limits: TrackingRequestReader.Limits = limits
    ) -> RequestProblem? {
        do throws(RequestProblem) {
            _ = try TrackingReading(body, endpoint, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    static func problem(
        _ body: String, _ endpoint: TrackingEndpoint = .batch, limits: TrackingRequestReader.Limits = limits
    ) -> RequestProblem? {
        problem(Array(body.utf8), endpoint, limits: limits)
    }
}
