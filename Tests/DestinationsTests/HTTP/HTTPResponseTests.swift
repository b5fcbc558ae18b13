import Delivery
import Destinations
import Testing

@Suite struct HTTPResponseTests {
    /// 2026-01-02 03:04:05 UTC.
    private static let wallClock: Int64 = 1_767_323_045_000_000_000

    private static func kind(_ outcome: Outcome) -> String {
        switch outcome {
        case .delivered: "delivered"
        case .retry: "retry"
        case .rejected: "rejected"
        case .tooLarge: "tooLarge"
        case .someRejected: "someRejected"
        case .hold: "hold"
        }
    }

    @Test(arguments: [
        (200, "delivered"), (201, "delivered"), (202, "delivered"), (204, "delivered"), (299, "delivered"),
        (301, "rejected"), (304, "rejected"), (307, "rejected"),
        (400, "someRejected"), (401, "hold"), (403, "hold"), (404, "rejected"), (405, "rejected"), (408, "retry"),
        (409, "rejected"), (410, "rejected"), (413, "tooLarge"), (415, "rejected"), (422, "rejected"), (423, "retry"),
        (424, "rejected"), (425, "retry"), (426, "rejected"), (429, "retry"), (431, "rejected"), (451, "rejected"),
        (500, "retry"), (501, "rejected"), (502, "retry"), (503, "retry"), (504, "retry"), (507, "retry"),
        (599, "retry"), (600, "rejected"), (999, "rejected"), (0, "retry"), (100, "retry"),
    ])
    func `each status code has one outcome`(status: Int, expected: String) {
        let outcome = HTTPResponse(status: status).outcome(wallClock: Self.wallClock)
        #expect(Self.kind(outcome) == expected)
    }

    @Test(arguments: [
        ("0", 0), ("7", 7), ("120", 120), (" 30 ", 30), ("1.5", 1), ("604800", 604_800),
        ("99999999999999999999999999", 604_800),
        ("Fri, 02 Jan 2026 03:05:05 GMT", 60), ("Friday, 02-Jan-26 03:04:35 GMT", 30),
        ("Fri Jan  2 03:04:15 2026", 10),
        // A date in the past, and one in the far future.
        ("Thu, 01 Jan 2026 00:00:00 GMT", 0), ("Fri, 02 Jan 2099 03:05:05 GMT", 604_800),
    ])
    func `Retry-After is read as seconds and as a date`(text: String, seconds: Int) {
        #expect(RetryAfter.parse(text, wallClock: Self.wallClock) == .seconds(seconds))
    }

    @Test(arguments: ["", "  ", "-5", "soon", "12 parsecs?", "3x", "."])
    func `a malformed Retry-After is ignored`(text: String) {
        // "12 parsecs?" starts with a number and a space, so the number is used.
        let expected: Duration? = text.hasPrefix("12 ") ? .seconds(12) : nil
        #expect(RetryAfter.parse(text, wallClock: Self.wallClock) == expected)
    }

    @Test func `a retry carries the wait that the service asked for`() {
        let response = HTTPResponse(status: 429, retryAfter: "7")
        #expect(response.outcome(wallClock: 0) == .retry(reason: "HTTP 429, asked to wait 7 s", after: .seconds(7)))
        #expect(HTTPResponse(status: 503).outcome(wallClock: 0) == .retry(reason: "HTTP 503", after: nil))
    }

    @Test func `a rejection quotes the response on one printable line`() {
        let response = HTTPResponse(
            status: 422, body: Array("bad\r\n\u{1b}[31m \u{202e} \"event\"\u{0}\t\twörld \n".utf8))
        #expect(response.outcome(wallClock: 0) == .rejected(reason: "HTTP 422", answer: "bad [31m \"event\" wörld"))
    }

    @Test func `an excerpt is bounded in characters`() {
        let long = HTTPResponse(status: 400, body: Array(String(repeating: "ö", count: 5000).utf8))
        #expect(long.excerpt(hiding: []) == String(repeating: "ö", count: 200))
        let binary = HTTPResponse(status: 400, body: (0..<5000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(binary.excerpt(hiding: []).unicodeScalars.count <= 200)
        let spaced = HTTPResponse(status: 400, body: Array(String(repeating: "a ", count: 300).utf8))
        #expect(spaced.excerpt(hiding: []).unicodeScalars.count <= 200)
    }

    @Test func `an excerpt hides secrets that the service echoes`() {
        let secret = Array("sesame-open-0123456789".utf8)
        let padding = String(repeating: "x", count: 190)
        let response = HTTPResponse(status: 400, body: Array("\(padding)sesame-open-0123456789 was wrong".utf8))
        #expect(response.excerpt(hiding: [secret]) == "\(padding)[hidden] w")
    }

    @Test func `a redirect shows only the host of its target`() {
        let response = HTTPResponse(status: 302, location: "https://u:p@other.example/path?token=1")
        let reason =
            "HTTP 302: a redirect to https://other.example, not followed; set the destination's URL to the redirect's target"
        #expect(response.outcome(wallClock: 0) == .rejected(reason: reason))
    }
}
