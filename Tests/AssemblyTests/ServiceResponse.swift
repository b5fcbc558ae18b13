import DaemonConfiguration
import Delivery
import Testing

@testable import Assembly
@testable import Destinations

/// The response of a service to a request of four events with the ids e0 … e3.
struct ServiceResponse {
    var status: Int
    var body: String
    var retryAfter: String?
    var wasCut: Bool

    init(_ status: Int, _ body: String, retryAfter: String? = nil, wasCut: Bool = false) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.wasCut = wasCut
    }

    /// The outcomes that it gives the events, one letter each: delivered, retry, rejected (x), split, hold. A number
    /// after the letter is the wait in seconds.
    /// - Parameters:
    ///   - destination: the destination's keys, as in a YAML map.
    ///   - request: which of the destination's requests; nil: the last one.
    func outcomes(for destination: String, request: Int? = nil) throws -> String {
        var loader = ConfigurationLoader(pluginDirectories: [])
        loader.secretStandIn = { $0 }
        let result = loader.load(
            text: """
                sources: { apps: { socket: /run/s } }
                routes: [ { to: [out] } ]
                destinations: { out: { \(destination) } }
                """, named: "p.yaml")
        let destination = try #require(result.configuration?.destinations.first, "\(result.diagnostics)")
        guard case .http(let http) = destination.kind else { return "not an HTTP destination" }
        let all = HTTPOptions(http, inFlight: destination.inFlight)
        let options = request.map { all.alternatives[$0] } ?? all.alternatives.last ?? all
        let reading = ResponseReading(
            HTTPResponse(status: status, retryAfter: retryAfter, body: Array(body.utf8)), wasCut: wasCut, wallClock: 0,
            hiding: [], count: 4, rules: options.responseRules, messageIDs: { ["e0", "e1", "e2", "e3"] })
        let each =
            switch reading.settlement(by: options.responseRules) {
            case .all(let outcome): [Outcome](repeating: outcome, count: 4)
            case .each(let outcomes): outcomes
            }
        // The only event of a request is the one that is rejected.
        return each.map { outcome in
            if case .someRejected = outcome, options.format.isOnePerRequest { return "x" }
            return Self.letter(outcome)
        }.joined(separator: " ")
    }

    private static func letter(_ outcome: Outcome) -> String {
        switch outcome {
        case .delivered: "d"
        case .retry(_, let after, _): "r" + (after.map { "\($0.components.seconds)" } ?? "")
        case .rejected: "x"
        case .tooLarge, .someRejected: "s"
        case .hold: "h"
        }
    }
}
