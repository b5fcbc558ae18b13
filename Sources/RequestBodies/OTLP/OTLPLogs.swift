import Events

/// OpenTelemetry's logs as events: the body of an OTLP/HTTP request, an ExportLogsServiceRequest in protobuf or JSON.
///
/// A log record that has an event name becomes a `track`. The page OpenTelemetry.md lists where each field goes. A
/// request in JSON is first rewritten in protobuf (`OTLPJSONRequest`), so both encodings have the same meaning.
package struct OTLPLogs {
    package enum Encoding: Sendable {
        case protobuf, json
    }

    package struct Limits: Sendable {
        /// Levels of nesting of an event, including the event itself.
        package var maximumDepth: Int
        /// Log records of a request, including those that are refused.
        package var maximumEvents: Int
        /// Bytes of an event's JSON, without the line feed.
        package var maximumEventSize: Int

        package init(maximumDepth: Int, maximumEvents: Int, maximumEventSize: Int) {
            self.maximumDepth = maximumDepth
            self.maximumEvents = maximumEvents
            self.maximumEventSize = maximumEventSize
        }
    }

    /// Turns a request into lines of events. An item is a log record, numbered in the order of the request.
    ///
    /// The lines are JSON in UTF-8, but they are not checked as events: a source scans them like any other line.
    /// - Throws: if the request is malformed, has more log records than allowed, or its events take more memory than
    ///   they may.
    package static func lines(
        of body: Span<UInt8>, _ encoding: Encoding, limits: Limits
    ) throws(RequestProblem) -> EventLines {
        switch encoding {
        case .protobuf: return try lines(of: body, limits: limits)
        case .json:
            let message = try OTLPJSONRequest.protobuf(from: body, maximumDepth: limits.maximumDepth)
            return try lines(of: message.span, limits: limits)
        }
    }

    private static func lines(of body: Span<UInt8>, limits: Limits) throws(RequestProblem) -> EventLines {
        var request = OTLPRequest(limits: limits, size: body.count)
        do throws(OTLPFault) {
            try request.read(body)
        } catch {
            switch error {
            case .request(let problem): throw problem
            case .record(let reason, let detail): throw RequestProblem(reason, detail)
            }
        }
        return request.lines
    }
}
