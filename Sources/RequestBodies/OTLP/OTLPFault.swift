import Events

/// Why a request, or one of its log records, cannot become events.
enum OTLPFault: Error {
    case request(RequestProblem)
    case record(RefusalReason, String)

    static func malformed(_ fault: ProtobufFault) -> OTLPFault {
        // Positions are counted from 1, as in editors.
        .request(
            RequestProblem(
                .invalidJSON,
                """
                the body is not a protobuf message ExportLogsServiceRequest: byte \(fault.position + 1): \
                \(fault.explanation); send OTLP logs, with a Content-Type that fits the encoding
                """))
    }

    static func tooDeep(maximum: Int) -> OTLPFault {
        .record(.tooDeep, "the log record's values are nested deeper than \(maximum) levels; flatten them")
    }

    static let invalidText = OTLPFault.record(
        .invalidUTF8, "a string of the log record is not UTF-8; encode it as UTF-8, or send it as bytes")
}

extension ProtobufReader {
    @_lifetime(self: copy self)
    @inline(__always)
    mutating func nextField() throws(OTLPFault) -> ProtobufField? {
        do throws(ProtobufFault) { return try next() } catch { throw .malformed(error) }
    }
}
