import DaemonConfiguration
import Delivery
import Testing

@testable import Assembly
@testable import Destinations

/// How Penstock reads the responses of the services that it knows. The responses come from the services' documentation.
@Suite struct ServiceResponseTests {
    /// The presets with their required settings.
    private static let keys = [
        "amplitude": "api_key: !secret k", "clickhouse": "table: t",
        "cloudkit": "container: iCloud.c, key_id: 0123456789ab, private_key: !secret k",
        "datadog": "api_key: !secret k", "elasticsearch": "index: i, api_key: !secret k",
        "ga4": "measurement_id: G-1, api_secret: !secret k",
        "loki": "job: j", "mixpanel": "token: !secret k",
        "opensearch": "index: i, user: !secret k, password: !secret k",
        "posthog": "api_key: !secret k", "rudderstack": "write_key: !secret k, data_plane: h",
        "segment": "write_key: !secret k",
        "webhook": "url: http://h/, secret: !secret k",
    ]

    private func outcomes(
        _ preset: String, _ status: Int, _ body: String = "", request: Int? = nil, retryAfter: String? = nil,
        wasCut: Bool = false
    ) throws -> String {
        let keys = Self.keys[preset].map { "preset: \(preset), \($0)" } ?? "http: http://h/, answers: [ \(preset) ]"
        return try ServiceResponse(status, body, retryAfter: retryAfter, wasCut: wasCut).outcomes(
            for: keys, request: request)
    }

    // MARK: Mixpanel

    @Test(arguments: [
        (200, #"{"code":200,"num_records_imported":4,"status":"OK"}"#, "d d d d"),
        (
            400,
            #"{"code":400,"error":"some data points in the request failed validation","failed_records":[{"index":1,"insert_id":"e1","field":"properties.time","message":"'properties.time' is invalid"},{"index":3,"insert_id":"e3","field":"event","message":"too long"}],"num_records_imported":2,"status":"Bad Request"}"#,
            "d x d x"
        ),
        (400, #"{"code":400,"error":"request body is not JSON","status":"Bad Request"}"#, "s s s s"),
        // The index does not match any sent event, so no event counts as delivered.
        (400, #"{"failed_records":[{"index":9}]}"#, "r r r r"),
        (401, #"{"code":401,"error":"Invalid credentials","status":"Unauthorized"}"#, "h h h h"),
        (413, #"{"code":413,"error":"request exceeds max limit of 2097152 bytes"}"#, "s s s s"),
        (429, #"{"code":429,"error":"Project exceeded rate limits."}"#, "r r r r"), (503, "", "r r r r"),
    ])
    func `Mixpanel's import rejects single records`(_ status: Int, _ body: String, _ expected: String) throws {
        #expect(try outcomes("mixpanel", status, body) == expected)
    }

    @Test(arguments: [
        (#"{"status":1,"error":null}"#, "d d d d"), (#"{"status":0,"error":"token, missing or empty"}"#, "h h h h"),
        (#"{"status":0,"error":"'$set' is not an object"}"#, "s s s s"),
    ])
    func `Mixpanel's engage reports errors with status 200`(_ body: String, _ expected: String) throws {
        #expect(try outcomes("mixpanel", 200, body, request: 1) == expected)
    }

    // MARK: GA4

    @Test(arguments: [(204, "d d d d"), (500, "r r r r"), (413, "s s s s")])
    func `a Google Analytics response is judged by its status alone`(_ status: Int, _ expected: String) throws {
        #expect(try outcomes("ga4", status) == expected)
    }

    // MARK: Amplitude

    @Test(arguments: [
        (
            200, #"{"code":200,"events_ingested":4,"payload_size_bytes":50,"server_upload_time":1396381378123}"#,
            "d d d d"
        ),
        (
            400,
            #"{"code":400,"error":"Request missing required field","events_with_invalid_fields":{"time":[3]},"events_with_missing_fields":{"event_type":[1,3]},"events_with_invalid_id_lengths":{}}"#,
            "r x r x"
        ),
        (400, #"{"code":400,"error":"Invalid request","missing_field":"api_key"}"#, "h h h h"),
        (413, #"{"code":413,"error":"Payload too large"}"#, "s s s s"),
        (
            429,
            #"{"code":429,"error":"Too many requests for some devices and users","eps_threshold":30,"throttled_devices":{"C8F9E604":31},"throttled_users":{"datanaut@example.org":32},"throttled_events":[0,2]}"#,
            "r30 r r30 r"
        ), (503, "", "r r r r"),
    ])
    func `Amplitude lists invalid events by field and index`(_ status: Int, _ body: String, _ expected: String) throws {
        #expect(try outcomes("amplitude", status, body) == expected)
    }

    // MARK: PostHog, Segment, RudderStack, webhooks: outcomes by the status table, without rules

    @Test(
        arguments: ["posthog", "segment", "rudderstack", "webhook"],
        [
            (200, "d d d d"), (202, "d d d d"), (204, "d d d d"), (401, "h h h h"), (403, "h h h h"), (408, "r r r r"),
            (413, "s s s s"), (423, "r r r r"), (425, "r r r r"), (429, "r7 r7 r7 r7"), (500, "r r r r"),
            (501, "x x x x"),
            (503, "r7 r7 r7 r7"),
        ])
    func `PostHog, Segment, RudderStack and webhooks are judged by the status`(
        _ preset: String, _ response: (status: Int, expected: String)
    ) throws {
        #expect(
            try outcomes(preset, response.status, "{}", retryAfter: response.expected.contains("7") ? "7" : nil)
                == response.expected)
    }

    /// These services do not name the invalid event of a batch. A webhook gets one event in each request.
    @Test(arguments: [
        ("posthog", "s s s s"), ("segment", "s s s s"), ("rudderstack", "s s s s"), ("webhook", "x x x x"),
    ])
    func `a 400 splits a batch`(_ preset: String, _ expected: String) throws {
        #expect(try outcomes(preset, 400, "{}") == expected)
    }

    // MARK: Datadog, Loki

    @Test(
        arguments: ["datadog", "loki"],
        [
            (202, "d d d d"), (204, "d d d d"), (400, "s s s s"), (401, "h h h h"), (403, "h h h h"), (413, "s s s s"),
            (429, "r r r r"), (500, "r r r r"),
        ])
    func `a rejection by Datadog or Loki splits the batch because it names no event`(
        _ preset: String, _ response: (status: Int, expected: String)
    ) throws {
        #expect(try outcomes(preset, response.status) == response.expected)
    }

    @Test func `a rule can make a rejected credential reject the events`() throws {
        #expect(try outcomes("{ status: [400, 401, 403], then: rejected }", 403) == "x x x x")
    }

    // MARK: CloudKit

    @Test(arguments: [
        (
            200,
            #"{"records":[{"recordName":"e0","recordType":"AnalyticsEvent","fields":{}},{"recordName":"e2","reason":"busy","serverErrorCode":"TRY_AGAIN_LATER","retryAfter":17},{"recordName":"e1","serverErrorCode":"EXISTS"},{"recordName":"e3","serverErrorCode":"BAD_REQUEST","reason":"no such field"}]}"#,
            "d d r17 x"
        ),
        // The response does not mention one event.
        (200, #"{"records":[{"recordName":"e0"},{"recordName":"e1"},{"recordName":"e2"}]}"#, "d d d r"),
        (200, #"{"error":"nonsense"}"#, "r r r r"), (200, "not JSON", "r r r r"),
        (503, #"{"uuid":"x","serverErrorCode":"SERVICE_UNAVAILABLE","retryAfter":30}"#, "r30 r30 r30 r30"),
        (401, #"{"serverErrorCode":"AUTHENTICATION_FAILED"}"#, "h h h h"),
        (421, #"{"serverErrorCode":"AUTHENTICATION_REQUIRED"}"#, "h h h h"),
        (413, #"{"serverErrorCode":"QUOTA_EXCEEDED"}"#, "h h h h"),
        (400, #"{"serverErrorCode":"BAD_REQUEST"}"#, "s s s s"),
    ])
    func `a CloudKit response names its records and the time to wait`(
        _ status: Int, _ body: String, _ expected: String
    ) throws {
        #expect(try outcomes("cloudkit", status, body) == expected)
    }

    // MARK: ClickHouse

    @Test(arguments: [
        (200, "", "d d d d"),
        (400, "Code: 53, e.displayText() = DB::Exception: Type mismatch in IN or VALUES section", "s s s s"),
        (400, "Code: 117. DB::Exception: Unknown field found while parsing JSONEachRow format: x", "s s s s"),
        (500, "Code: 241. DB::Exception: Memory limit (total) exceeded", "r r r r"),
        (404, "Code: 60. DB::Exception: Table default.t doesn't exist. (UNKNOWN_TABLE)", "r r r r"),
        (500, "Code: 533, e.displayText() = DB::Exception: something else", "r r r r"),
        (403, "Code: 516. DB::Exception: default: Authentication failed", "h h h h"),
    ])
    func `ClickHouse's error code identifies bad rows`(_ status: Int, _ body: String, _ expected: String) throws {
        #expect(try outcomes("clickhouse", status, body) == expected)
    }

    // MARK: Elasticsearch

    @Test(
        arguments: ["elasticsearch", "opensearch"],
        [
            (#"{"took":30,"errors":false,"items":[{"create":{"_id":"e0","status":201}}]}"#, false, "d d d d"),
            (
                #"{"took":30,"errors":true,"items":[{"create":{"_id":"e0","status":201}},{"create":{"_id":"e1","status":409,"error":{"type":"version_conflict_engine_exception"}}},{"create":{"_id":"e2","status":429,"error":{"type":"es_rejected_execution_exception"}}},{"create":{"_id":"e3","status":400,"error":{"type":"mapper_parsing_exception"}}}]}"#,
                false, "d d r x"
            ),
            // A missing permission or index is not the event's fault.
            (
                #"{"errors":true,"items":[{"create":{"status":403}},{"create":{"status":404}},{"create":{"status":201}},{"create":{"status":503}}]}"#,
                false, "h h d r"
            ),
            // The response was cut off, so the good status alone does not count.
            (#"{"took":30,"errors":true,"items":[{"create":{"_id":"e0","status":201}},{"crea"#, true, "r r r r"),
            ("", false, "r r r r"),
        ])
    func `Elasticsearch and OpenSearch respond item by item, in order`(
        _ preset: String, _ response: (body: String, wasCut: Bool, expected: String)
    ) throws {
        #expect(try outcomes(preset, 200, response.body, wasCut: response.wasCut) == response.expected)
    }
}
