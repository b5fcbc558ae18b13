import Foundation
import Synchronization
import TestSupport

/// Remembers ids and detects repeated ones.
private final class Seen: Sendable {
    private let ids = Mutex<Set<String>>([])

    /// - Returns: whether the id is new.
    func insert(_ id: String) -> Bool { ids.withLock { $0.insert(id).inserted } }
}

/// The bulk API of Elasticsearch and OpenSearch: one result per document, in order, and no id twice.
final class BulkService: AnalyticsService {
    init(authorization: String) throws {
        let documents = Seen()
        let busy = Seen()
        try super.init { request, ledger in
            guard request.line.hasPrefix("POST /_bulk?filter_path=errors,items.*.status,items.*.error "),
                request.headers["content-type"] == "application/x-ndjson"
            else { return .status(405) }
            guard request.headers["authorization"] == authorization else {
                return .status(401, body: #"{"error":"security_exception","status":401}"#)
            }
            if ledger.count() == 0 {
                return .status(429, body: #"{"error":{"type":"circuit_breaking_exception"},"status":429}"#)
            }
            let lines = request.text.split(separator: "\n").compactMap { jsonObject(String($0)) }
            var items: [String] = []
            for (action, document) in zip(
                lines.enumerated().filter { $0.offset % 2 == 0 }, lines.enumerated().filter { $0.offset % 2 == 1 })
            {
                let create = action.element["create"] as? [String: Any] ?? [:]
                let name = document.element["event"] as? String ?? "\(document.element["type"] ?? "?")"
                guard let id = create["_id"] as? String, create["_index"] as? String == "shop-events",
                    document.element["@timestamp"] is String
                else {
                    items.append(#"{"create":{"status":404,"error":{"type":"index_not_found_exception"}}}"#)
                    continue
                }
                if name == "Refused" {
                    items.append(
                        #"{"create":{"status":400,"error":{"type":"mapper_parsing_exception","reason":"failed to parse"}}}"#
                    )
                } else if name == "Busy", busy.insert(id) {
                    items.append(#"{"create":{"status":429,"error":{"type":"es_rejected_execution_exception"}}}"#)
                } else if documents.insert(id) {
                    ledger.take(name)
                    items.append(#"{"create":{"status":201}}"#)
                } else {
                    items.append(#"{"create":{"status":409,"error":{"type":"version_conflict_engine_exception"}}}"#)
                }
            }
            let failed = items.contains { $0.contains("error") }
            return .status(200, body: #"{"errors":\#(failed),"items":[\#(items.joined(separator: ","))]}"#)
        }
    }
}

/// Accepts a request whole or not at all, without naming the invalid log.
final class DatadogService: AnalyticsService {
    init(key: String) throws {
        try super.init { request, ledger in
            guard request.headers["dd-api-key"] == key else { return .status(403, body: #"{"errors":["Forbidden"]}"#) }
            if ledger.count() == 0 {
                return .status(429, headers: ["Retry-After: 0"], body: #"{"errors":["Too Many Requests"]}"#)
            }
            guard request.line.hasPrefix("POST /api/v2/logs "), let logs = request.json as? [[String: Any]],
                logs.count <= 1000,
                logs.allSatisfy({ $0["ddsource"] is String && $0["message"] as? String != "Refused" })
            else { return .status(400, body: #"{"errors":["Bad Request"]}"#) }
            guard request.body.count <= 5_000_000 else {
                return .status(413, body: #"{"errors":["Payload Too Large"]}"#)
            }
            for log in logs { ledger.take("\(log["message"] ?? "?")") }
            return .status(202, body: "{}")
        }
    }
}

/// Stores lines that are not too old, responds with 400 if any was, and stores no line twice.
final class LokiService: AnalyticsService {
    init(tenant: String) throws {
        let lines = Seen()
        try super.init { request, ledger in
            if ledger.count() == 0 { return .status(429, body: "Ingestion rate limit exceeded for user \(tenant)") }
            guard request.line.hasPrefix("POST /loki/api/v1/push "), request.headers["x-scope-orgid"] == tenant,
                let streams = (request.json as? [String: Any])?["streams"] as? [[String: Any]]
            else { return .status(401, body: "no org id") }
            var ignored = 0
            for stream in streams {
                let labels = stream["stream"] as? [String: String] ?? [:]
                for value in stream["values"] as? [[String]] ?? [] {
                    guard value.count == 2, let time = Double(value[0]),
                        time > Date().timeIntervalSince1970 * 1e9 - 7 * 86_400e9
                    else {
                        ignored += 1
                        continue
                    }
                    let line = jsonObject(value[1]) ?? [:]
                    if lines.insert("\(labels["type"] ?? "") \(value)") {
                        ledger.take("\(labels["type"] ?? "?") \(line["messageId"] ?? "?")")
                    }
                }
            }
            return ignored == 0 ? .status(204) : .status(400, body: "has timestamp too old, total ignored: \(ignored)")
        }
    }
}

/// Responds record by record, by name, and reports in the body how long to wait.
final class CloudKitService: AnalyticsService {
    init() throws {
        let records = Seen()
        let busy = Seen()
        try super.init { request, ledger in
            guard ledger.count() > 0 else {
                return .status(503, body: #"{"serverErrorCode":"TRY_AGAIN_LATER","retryAfter":0}"#)
            }
            guard let operations = (request.json as? [String: Any])?["operations"] as? [[String: Any]],
                operations.count <= 200
            else {
                return .status(400, body: #"{"serverErrorCode":"BAD_REQUEST"}"#)
            }
            // The results come in another order than the records, so only the names identify them.
            let results = operations.reversed().map { operation -> String in
                let record = operation["record"] as? [String: Any] ?? [:]
                let type = record["recordType"] as? String ?? "?"
                let name = record["recordName"] as? String ?? "?"
                func failed(_ code: String) -> String {
                    #"{"recordName":"\#(name)","serverErrorCode":"\#(code)","reason":"no","retryAfter":0}"#
                }
                if type.hasSuffix(".refused") { return failed("BAD_REQUEST") }
                if type.hasSuffix(".busy"), busy.insert(name) { return failed("TRY_AGAIN_LATER") }
                guard records.insert(name) else { return failed("EXISTS") }
                ledger.take(type)
                return #"{"recordName":"\#(name)","recordType":"\#(type)","fields":{},"recordChangeTag":"1"}"#
            }
            return .status(200, body: #"{"records":[\#(results.joined(separator: ","))]}"#)
        }
    }
}
