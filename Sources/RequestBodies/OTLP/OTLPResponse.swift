import Events

// The bodies of answers, in the encoding of the request.

extension OTLPLogs {
    /// The body of a 200: an ExportLogsServiceResponse.
    /// - Parameter rejected: how many log records were refused. If it is 0, the message is empty, which means success.
    package static func response(rejected: Int, message: String, _ encoding: Encoding) -> [UInt8] {
        var output: [UInt8] = []
        switch encoding {
        case .protobuf:
            guard rejected > 0 else { return output }
            let start = ProtobufWriter.begin(field: 1, in: &output)
            ProtobufWriter.append(UInt64(rejected), field: 1, to: &output)
            ProtobufWriter.append(Array(message.utf8), field: 2, to: &output)
            ProtobufWriter.end(start, in: &output)
        case .json:
            guard rejected > 0 else { return Array("{}".utf8) }
            // Integers of 64 bits are strings in protobuf's JSON.
            output += #"{"partialSuccess":{"rejectedLogRecords":"\#(rejected)","errorMessage":"#.utf8
            JSONText.appendString(message.utf8.span, to: &output)
            output += "}}".utf8
        }
        return output
    }

    /// The body of a 4xx or 5xx: a google.rpc.Status.
    /// - Parameter code: of google.rpc.Code, such as 3 for INVALID_ARGUMENT. It is not an HTTP status.
    package static func failure(code: Int32, message: String, _ encoding: Encoding) -> [UInt8] {
        var output: [UInt8] = []
        switch encoding {
        case .protobuf:
            // A negative number has its sign in all 64 bits.
            ProtobufWriter.append(UInt64(bitPattern: Int64(code)), field: 1, to: &output)
            ProtobufWriter.append(Array(message.utf8), field: 2, to: &output)
        case .json:
            output += #"{"code":\#(code),"message":"#.utf8
            JSONText.appendString(message.utf8.span, to: &output)
            output.append(UInt8(ascii: "}"))
        }
        return output
    }
}
