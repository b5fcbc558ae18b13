import Foundation
import Synchronization
import TestSupport

/// A service that behaves as its documentation describes, including its limits and partial failures. It keeps what it
/// has accepted.
class AnalyticsService {
    /// What the service has accepted so far. Any thread.
    final class Ledger: Sendable {
        private struct State {
            var taken: [String] = []
            var requests = 0
        }

        private let state = Mutex(State())

        func take(_ line: String) { state.withLock { $0.taken.append(line) } }
        /// Counts a request. Returns its number, from 0.
        func count() -> Int {
            state.withLock { state in
                defer { state.requests += 1 }
                return state.requests
            }
        }
        var taken: [String] { state.withLock(\.taken) }
    }

    let server: ScriptedServer
    let ledger: Ledger

    init(_ respond: @escaping @Sendable (ScriptedServer.Request, Ledger) -> ScriptedServer.Reply) throws {
        let ledger = Ledger()
        self.ledger = ledger
        server = try ScriptedServer([.respond { respond($0, ledger) }])
    }

    deinit { server.stop() }

    var address: String { "http://127.0.0.1:\(server.port)" }
    var taken: [String] { ledger.taken }
}

extension ScriptedServer.Request {
    /// The value of a JSON body.
    var json: Any? { try? JSONSerialization.jsonObject(with: Data(body)) }
}

/// Import rejects single records. Engage always responds with 200 and judges the batch as a whole.
final class MixpanelService: AnalyticsService {
    init(token: String) throws {
        let credentials = "Basic " + Data("\(token):".utf8).base64EncodedString()
        try super.init { request, ledger in
            let number = ledger.count()
            guard let records = request.json as? [[String: Any]] else {
                return .status(400, body: #"{"code":400,"error":"not JSON"}"#)
            }
            if request.line.hasPrefix("POST /engage?verbose=1 ") || request.line.hasPrefix("POST /groups?verbose=1 ") {
                let isComplete = records.allSatisfy { record in
                    let update = record["$set"] ?? record["$union"]
                    return record["$token"] as? String == token && update is [String: Any]
                }
                guard isComplete else {
                    return .status(200, body: #"{"status":0,"error":"token, missing or empty"}"#)
                }
                guard !records.contains(where: { ($0["$set"] as? [String: Any])?["broken"] != nil }) else {
                    return .status(200, body: #"{"status":0,"error":"'$set' does not hold what it should"}"#)
                }
                for record in records {
                    let groups = ((record["$union"] as? [String: Any])?["group_id"] as? [String])?.first
                    let id = record["$distinct_id"] ?? record["$group_id"] ?? "?"
                    ledger.take("profile \(id)" + (groups.map { " in \($0)" } ?? ""))
                }
                return .status(200, body: #"{"status":1,"error":null}"#)
            }
            guard request.line.hasPrefix("POST /import?strict=1 "), request.headers["authorization"] == credentials
            else {
                return .status(401, body: #"{"code":401,"error":"Invalid credentials","status":"Unauthorized"}"#)
            }
            if number == 0 { return .status(429, body: #"{"code":429,"error":"Project exceeded rate limits."}"#) }
            var failed: [String] = []
            for (index, record) in records.enumerated() {
                let name = record["event"] as? String ?? "?"
                let properties = record["properties"] as? [String: Any] ?? [:]
                if name.hasPrefix("Refused") || properties["$insert_id"] == nil {
                    failed.append(
                        #"{"index":\#(index),"insert_id":"x","field":"event","message":"'event' is invalid"}"#)
                } else {
                    ledger.take(name)
                }
            }
            guard !failed.isEmpty else {
                return .status(200, body: #"{"code":200,"num_records_imported":\#(records.count),"status":"OK"}"#)
            }
            return .status(
                400,
                body:
                    #"{"code":400,"error":"some data points in the request failed validation","failed_records":[\#(failed.joined(separator: ","))],"status":"Bad Request"}"#
            )
        }
    }
}

/// Responds to every request with 204 and discards what breaks a rule.
final class GoogleAnalyticsService: AnalyticsService {
    init() throws {
        try super.init { request, ledger in
            guard let body = request.json as? [String: Any], let client = body["client_id"] as? String,
                let events = body["events"] as? [[String: Any]], events.count <= 25, request.body.count <= 130_000
            else {
                ledger.take("thrown away: a request")
                return .status(204)
            }
            for event in events {
                let name = event["name"] as? String ?? ""
                let parameters = event["params"] as? [String: Any] ?? [:]
                let fits =
                    parameters.count <= 25
                    && parameters.values.allSatisfy { ($0 as? String).map { $0.count <= 100 } ?? true }
                let isName = name.range(of: "^[A-Za-z][A-Za-z0-9_]{0,39}$", options: .regularExpression) != nil
                ledger.take(fits && isName && name != "session_start" ? "\(client) \(name)" : "thrown away: \(name)")
            }
            return .status(204)
        }
    }
}

/// Accepts a request whole or not at all, names the events that it rejects, and throttles single users.
final class AmplitudeService: AnalyticsService {
    init(key: String) throws {
        try super.init { request, ledger in
            let number = ledger.count()
            guard let body = request.json as? [String: Any], let events = body["events"] as? [[String: Any]] else {
                return .status(400, body: "{}")
            }
            guard body["api_key"] as? String == key else {
                return .status(400, body: #"{"code":400,"error":"Invalid API key: x","missing_field":null}"#)
            }
            let bad = events.indices.filter { (events[$0]["event_type"] as? String)?.hasPrefix("Refused") ?? true }
            guard bad.isEmpty else {
                return .status(
                    400,
                    body: #"{"code":400,"error":"Invalid field","events_with_invalid_fields":{"event_type":\#(bad)}}"#)
            }
            let throttled = events.indices.filter { events[$0]["user_id"] as? String == "eager" }
            if number < 3, !throttled.isEmpty {
                return .status(
                    429, headers: ["Retry-After: 0"],
                    body: #"{"code":429,"eps_threshold":30,"throttled_events":\#(throttled)}"#)
            }
            for event in events {
                ledger.take("\(event["user_id"] ?? event["device_id"] ?? "?") \(event["event_type"] ?? "?")")
            }
            return .status(200, body: #"{"code":200,"events_ingested":\#(events.count)}"#)
        }
    }
}
