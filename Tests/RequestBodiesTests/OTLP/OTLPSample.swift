import Events
import RequestBodies

/// Requests and limits for tests.
enum OTLPSample {
    static let limits = OTLPLogs.Limits(maximumDepth: 64, maximumEvents: 100, maximumEventSize: 32_768)

    /// A record with an event name and a user: accepted as it is.
    static let record = ProtobufMessage().text(12, "Signed Up").attribute(6, "user.id", "u1")

    static func request(
        _ records: [ProtobufMessage], resource: ProtobufMessage? = nil, scope: ProtobufMessage? = nil
    ) -> [UInt8] {
        var scopeLogs = ProtobufMessage()
        if let scope { scopeLogs = scopeLogs.message(1, scope) }
        for record in records { scopeLogs = scopeLogs.message(2, record) }
        var resourceLogs = ProtobufMessage()
        if let resource { resourceLogs = resourceLogs.message(1, resource) }
        return ProtobufMessage().message(1, resourceLogs.message(2, scopeLogs)).bytes
    }

    /// A request in JSON with one record.
    static func json(_ record: String) -> [UInt8] {
        Array(#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[\#(record)]}]}]}"#.utf8)
    }

    static func lines(
        _ body: [UInt8], _ encoding: OTLPLogs.Encoding = .protobuf, limits: OTLPLogs.Limits = limits
    ) throws(RequestProblem) -> EventLines {
        try OTLPLogs.lines(of: body.span, encoding, limits: limits)
    }

    /// The request's lines without line feeds.
    static func texts(_ lines: EventLines) -> [String] {
        String(decoding: lines.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The line of the only record.
    static func line(
        _ record: ProtobufMessage, resource: ProtobufMessage? = nil, scope: ProtobufMessage? = nil
    ) throws -> String {
        let lines = try lines(request([record], resource: resource, scope: scope))
        return texts(lines).first ?? lines.refused.first.map { "\($0.refusal.reason.rawValue): \($0.refusal.detail)" }
            ?? ""
    }

    /// What OpenTelemetry's SDK for Python 1.45.2 sends for four log records, in protobuf.
    static let python = Base64Text.decode(
        """
        Cp4FCoUBChYKDHNlcnZpY2UubmFtZRIGCgRzaG9wChoKD3NlcnZpY2UudmVyc2lvbhIHCgUyLjEuMAocChNzZXJ2aWNlLmluc3Rh
        bmNlLmlkEgUKA2ktNwoTCgdvcy5uYW1lEggKBkRlYmlhbgocChFkZXZpY2UubW9kZWwubmFtZRIHCgVQaXhlbBKTBAomCg1zaG9w
        LmNoZWNrb3V0EgMxLjQaEAoEdGVhbRIICgZvcmRlcnMSpAIJFU39PZyZhhgQCRoESU5GTyoAMg8KB3VzZXIuaWQSBAoCdTEyEwoK
        c2Vzc2lvbi5pZBIFCgNzLTkyHAoObG9nLnJlY29yZC51aWQSCgoIb3JkZXItMTcyEgoFdG90YWwSCSFmZmZmZuYzQDILCgVpdGVt
        cxICGAMyCgoEZ2lmdBICEAEyGgoEbm90ZRISChBuYcOvdmUgInF1b3RlIiAKMhQKBHRhZ3MSDCoKCgMKAWEKAwoBYjIkCgZuZXN0
        ZWQSGjIYChYKAWsSESoPCgIYAQoJMgcKBQoBeBIAMgsKA3JhdxIEOgIA/0UBAAAAShABAgMEBQYHCAkKCwwNDg8QUggREhMUFRYX
        GFn9UP09nJmGGGIPT3JkZXIgQ29tcGxldGVkEn4JFU39PZyZhhgqIjIgCgsKBXRvdGFsEgIYBQoRCghjdXJyZW5jeRIFCgNFVVIy
        HwoKZXZlbnQubmFtZRIRCg9PcmRlciBDYW5jZWxsZWQyEgoKZW5kdXNlci5pZBIECgJ1MjIRCghjdXJyZW5jeRIFCgNVU0RZ/VD9
        PZyZhhgSGRANKgwKCnBsYWluIHRleHRZFU39PZyZhhgSJyoLCglhIHJlY2VpcHRZFU39PZyZhhhiD1JlY2VpcHQgUHJpbnRlZA==
        """)

    /// The same four log records as its exporter for JSON sends them.
    static let pythonJSON = Array(
        #"""
        {"resourceLogs": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}},
        {"key": "service.version", "value": {"stringValue": "2.1.0"}}, {"key": "service.instance.id",
        "value": {"stringValue": "i-7"}}, {"key": "os.name", "value": {"stringValue": "Debian"}},
        {"key": "device.model.name", "value": {"stringValue": "Pixel"}}]},
        "scopeLogs": [{"scope": {"name": "shop.checkout", "version": "1.4", "attributes": [{"key": "team",
        "value": {"stringValue": "orders"}}]}, "logRecords": [{"timeUnixNano": "1767268800123456789",
        "observedTimeUnixNano": "1767268800123457789", "severityNumber": 9, "severityText": "INFO", "body": {},
        "attributes": [{"key": "user.id", "value": {"stringValue": "u1"}}, {"key": "session.id",
        "value": {"stringValue": "s-9"}}, {"key": "log.record.uid", "value": {"stringValue": "order-17"}},
        {"key": "total", "value": {"doubleValue": 19.9}}, {"key": "items", "value": {"intValue": "3"}},
        {"key": "gift", "value": {"boolValue": true}}, {"key": "note",
        "value": {"stringValue": "na\u00efve \"quote\" \n"}}, {"key": "tags",
        "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"stringValue": "b"}]}}}, {"key": "nested",
        "value": {"kvlistValue": {"values": [{"key": "k", "value": {"arrayValue": {"values": [{"intValue": "1"},
        {"kvlistValue": {"values": [{"key": "x", "value": {}}]}}]}}}]}}}, {"key": "raw",
        "value": {"bytesValue": "AP8="}}], "flags": 1, "traceId": "0102030405060708090a0b0c0d0e0f10",
        "spanId": "1112131415161718", "eventName": "Order Completed"}, {"timeUnixNano": "1767268800123456789",
        "observedTimeUnixNano": "1767268800123457789", "body": {"kvlistValue": {"values": [{"key": "total",
        "value": {"intValue": "5"}}, {"key": "currency", "value": {"stringValue": "EUR"}}]}},
        "attributes": [{"key": "event.name", "value": {"stringValue": "Order Cancelled"}}, {"key": "enduser.id",
        "value": {"stringValue": "u2"}}, {"key": "currency", "value": {"stringValue": "USD"}}]},
        {"observedTimeUnixNano": "1767268800123456789", "severityNumber": 13,
        "body": {"stringValue": "plain text"}}, {"observedTimeUnixNano": "1767268800123456789",
        "body": {"stringValue": "a receipt"}, "eventName": "Receipt Printed"}]}]}]}
        """#.utf8)
}

/// An independent decoder for the samples.
enum Base64Text {
    static func decode(_ text: String) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var bits: UInt32 = 0
        var count = 0
        var bytes: [UInt8] = []
        for character in text {
            guard let value = alphabet.firstIndex(of: character) else { continue }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }
}
