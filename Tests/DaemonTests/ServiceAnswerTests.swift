import Configuration
import Delivery
import Testing

@testable import Daemon
@testable import Destinations

/// Services, each described in the configuration's own words, and what their answers come to. The
/// answers are those of the services' documentation.
@Suite struct ServiceAnswerTests {
    /// What an answer means for four events with the ids e0 … e3, one letter each: delivered, retry,
    /// rejected (x), split, hold; and how long to wait, in seconds.
    private func outcomes(
        _ rules: String, _ status: Int, _ body: String = "", retryAfter: String? = nil, wasCut: Bool = false
    ) throws -> String {
        let text = """
            sources: { apps: { socket: /run/s } }
            routes: [ { to: [out] } ]
            destinations:
              out:
                http: http://h/
                answers:
            \(rules.split(separator: "\n").map { "      " + $0 }.joined(separator: "\n"))
            """
        let result = ConfigurationLoader(pluginDirectories: []).load(text: text, named: "p.yaml")
        let destination = try #require(result.configuration?.destinations.first, "\(result.diagnostics)")
        guard case .http(let http) = destination.kind else { return "no HTTP destination" }
        let options = HTTPOptions(http, inFlight: destination.inFlight)
        let reading = AnswerReading(
            HTTPAnswer(status: status, retryAfter: retryAfter, body: Array(body.utf8)), wasCut: wasCut, wallClock: 0,
            hiding: [], count: 4, rules: options.answers, messageIDs: { ["e0", "e1", "e2", "e3"] })
        let each =
            switch reading.settlement(by: options.answers) {
            case .all(let outcome): [Outcome](repeating: outcome, count: 4)
            case .each(let outcomes): outcomes
            }
        return each.map(Self.letter).joined(separator: " ")
    }

    private static func letter(_ outcome: Outcome) -> String {
        switch outcome {
        case .delivered: "d"
        case .retry(_, let after, _): "r" + (after.map { "\($0.components.seconds)" } ?? "")
        case .rejected: "x"
        case .tooLarge: "s"
        case .hold: "h"
        }
    }

    // MARK: Mixpanel

    private let mixpanel = """
        - { status: 400, events: { list: failed_records, index: index, then: rejected, others: delivered } }
        """

    @Test(arguments: [
        (200, #"{"code":200,"num_records_imported":4,"status":"OK"}"#, "d d d d"),
        (
            400,
            #"{"code":400,"error":"some data points in the request failed validation","failed_records":[{"index":1,"insert_id":"e1","field":"properties.time","message":"'properties.time' is invalid"},{"index":3,"insert_id":"e3","field":"event","message":"too long"}],"num_records_imported":2,"status":"Bad Request"}"#,
            "d x d x"
        ),
        (400, #"{"code":400,"error":"request body is not JSON","status":"Bad Request"}"#, "x x x x"),
        // Refers to an event that was not sent: nothing is taken for granted.
        (400, #"{"failed_records":[{"index":9}]}"#, "r r r r"),
        (401, #"{"code":401,"error":"Invalid credentials","status":"Unauthorized"}"#, "h h h h"),
        (413, #"{"code":413,"error":"request exceeds max limit of 2097152 bytes"}"#, "s s s s"),
        (429, #"{"code":429,"error":"Project exceeded rate limits."}"#, "r r r r"), (503, "", "r r r r"),
    ])
    func `Mixpanel's import refuses records one by one`(_ status: Int, _ body: String, _ expected: String) throws {
        #expect(try outcomes(mixpanel, status, body) == expected)
    }

    @Test(arguments: [
        (#"{"status":1,"error":null}"#, "d d d d"), (#"{"status":0,"error":"token, missing or empty"}"#, "x x x x"),
    ])
    func `Mixpanel's engage says 200 even when it is wrong`(_ body: String, _ expected: String) throws {
        #expect(try outcomes("- { status: 2xx, json: { status: 0 }, then: rejected }", 200, body) == expected)
    }

    // MARK: GA4

    @Test(arguments: [(204, "d d d d"), (500, "r r r r"), (413, "s s s s")])
    func `Google Analytics says nothing at all`(_ status: Int, _ expected: String) throws {
        #expect(try outcomes("- { status: 2xx, then: delivered }", status) == expected)
    }

    // MARK: Amplitude

    private let amplitude = """
        - status: 400
          events:
            list: [events_with_invalid_fields.*, events_with_missing_fields.*, events_with_invalid_id_lengths.*, silenced_events]
            then: rejected
            others: retry
        - status: 429
          events: { list: throttled_events, then: retry, others: retry }
          wait: 30s
        """

    @Test(arguments: [
        (200, #"{"code":200,"events_ingested":4,"payload_size_bytes":50,"server_upload_time":1396381378123}"#, "d d d d"),
        (
            400,
            #"{"code":400,"error":"Request missing required field","events_with_invalid_fields":{"time":[3]},"events_with_missing_fields":{"event_type":[1,3]},"events_with_invalid_id_lengths":{}}"#,
            "r x r x"
        ),
        (400, #"{"code":400,"error":"Invalid request","missing_field":"api_key"}"#, "x x x x"),
        (413, #"{"code":413,"error":"Payload too large"}"#, "s s s s"),
        (
            429,
            #"{"code":429,"error":"Too many requests for some devices and users","eps_threshold":30,"throttled_devices":{"C8F9E604":31},"throttled_users":{"datanaut@example.org":32},"throttled_events":[0,2]}"#,
            "r30 r r30 r"
        ), (503, "", "r r r r"),
    ])
    func `Amplitude lists bad events by their numbers, by field`(_ status: Int, _ body: String, _ expected: String) throws {
        #expect(try outcomes(amplitude, status, body) == expected)
    }

    // MARK: PostHog, Segment, Loki, Datadog, webhooks: the table without rules

    @Test(arguments: [
        (200, "d d d d"), (202, "d d d d"), (204, "d d d d"), (400, "x x x x"), (401, "h h h h"), (403, "h h h h"), (408, "r r r r"), (413, "s s s s"),
        (423, "r r r r"), (425, "r r r r"), (429, "r7 r7 r7 r7"), (500, "r r r r"), (501, "x x x x"), (503, "r7 r7 r7 r7"),
    ])
    func `PostHog, Segment, Loki, Datadog and webhooks go by the status`(_ status: Int, _ expected: String) throws {
        let answer = try outcomes(
            "- { status: 2xx, then: delivered }", status, "{}", retryAfter: expected.contains("7") ? "7" : nil)
        #expect(answer == expected)
    }

    @Test func `a credential that is refused can be made to mean the events`() throws {
        #expect(try outcomes("- { status: [400, 401, 403], then: rejected }", 403) == "x x x x")
    }

    // MARK: CloudKit

    private let cloudKit = """
        - status: 200
          events:
            list: records
            id: recordName
            code: serverErrorCode
            outcomes:
              delivered: [none, EXISTS]
              retry: [THROTTLED, TRY_AGAIN_LATER, ZONE_BUSY, INTERNAL_ERROR, ATOMIC_ERROR]
              hold: [AUTHENTICATION_FAILED, AUTHENTICATION_REQUIRED, ACCESS_DENIED]
            then: rejected
          retry_after: retryAfter
        - { status: [429, 500, 503], then: retry, retry_after: retryAfter }
        """

    @Test(arguments: [
        (
            200,
            #"{"records":[{"recordName":"e0","recordType":"AnalyticsEvent","fields":{}},{"recordName":"e2","reason":"busy","serverErrorCode":"TRY_AGAIN_LATER","retryAfter":17},{"recordName":"e1","serverErrorCode":"EXISTS"},{"recordName":"e3","serverErrorCode":"BAD_REQUEST","reason":"no such field"}]}"#,
            "d d r17 x"
        ),
        // One event is not spoken of.
        (200, #"{"records":[{"recordName":"e0"},{"recordName":"e1"},{"recordName":"e2"}]}"#, "d d d r"),
        (200, #"{"error":"nonsense"}"#, "r r r r"), (200, "not JSON", "r r r r"),
        (503, #"{"uuid":"x","serverErrorCode":"SERVICE_UNAVAILABLE","retryAfter":30}"#, "r30 r30 r30 r30"),
        (401, #"{"serverErrorCode":"AUTHENTICATION_FAILED"}"#, "h h h h"),
    ])
    func `CloudKit speaks of records by their names, and says when to come again`(
        _ status: Int, _ body: String, _ expected: String
    ) throws {
        #expect(try outcomes(cloudKit, status, body) == expected)
    }

    // MARK: ClickHouse

    private let clickHouse = """
        - { contains: ["Code: 6", "Code: 26", "Code: 27", "Code: 38", "Code: 41", "Code: 53", "Code: 72", "Code: 117"], then: split }
        - { contains: ["Code: 192", "Code: 193", "Code: 516"], then: hold }
        - { contains: "DB::Exception", then: retry }
        """

    @Test(arguments: [
        (200, "", "d d d d"),
        (400, "Code: 53, e.displayText() = DB::Exception: Type mismatch in IN or VALUES section", "s s s s"),
        (400, "Code: 117. DB::Exception: Unknown field found while parsing JSONEachRow format: x", "s s s s"),
        (500, "Code: 241. DB::Exception: Memory limit (total) exceeded", "r r r r"),
        (404, "Code: 60. DB::Exception: Table default.t doesn't exist. (UNKNOWN_TABLE)", "r r r r"),
        (500, "Code: 533, e.displayText() = DB::Exception: something else", "r r r r"),
        (403, "Code: 516. DB::Exception: default: Authentication failed", "h h h h"),
    ])
    func `ClickHouse's text says whether it is the rows`(_ status: Int, _ body: String, _ expected: String) throws {
        #expect(try outcomes(clickHouse, status, body) == expected)
    }

    // MARK: Elasticsearch

    private let elasticsearch = """
        - status: 200
          json: { errors: false }
          then: delivered
        - status: 200
          events: { list: items, code: create.status, outcomes: { delivered: [2xx, 409], retry: [429, 5xx], rejected: 4xx }, then: retry }
        """

    @Test(arguments: [
        (#"{"took":30,"errors":false,"items":[{"create":{"_id":"e0","status":201}}]}"#, false, "d d d d"),
        (
            #"{"took":30,"errors":true,"items":[{"create":{"_id":"e0","status":201}},{"create":{"_id":"e1","status":409,"error":{"type":"version_conflict_engine_exception"}}},{"create":{"_id":"e2","status":429,"error":{"type":"es_rejected_execution_exception"}}},{"create":{"_id":"e3","status":400,"error":{"type":"mapper_parsing_exception"}}}]}"#,
            false, "d d r x"
        ),
        // Broken off: a good status alone is no good word.
        (#"{"took":30,"errors":true,"items":[{"create":{"_id":"e0","status":201}},{"crea"#, true, "r r r r"),
        ("", false, "r r r r"),
    ])
    func `Elasticsearch answers item by item, in order`(_ body: String, _ wasCut: Bool, _ expected: String) throws {
        #expect(try outcomes(elasticsearch, 200, body, wasCut: wasCut) == expected)
    }
}
