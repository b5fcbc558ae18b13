import Events

/// The lines that are sent to a client that asked for acknowledgements. The texts are part of the protocol.
enum Answer {
    static func acknowledge(_ lines: UInt64, to output: inout [UInt8]) {
        output.append(contentsOf: "{\"ack\":\(lines)}\n".utf8)
    }

    /// - Parameter line: counted from 1 after the control line; 0 is the control line.
    static func refuse(_ refusal: Refusal, line: UInt64, to output: inout [UInt8]) {
        output.append(contentsOf: "{\"refused\":{\"line\":".utf8)
        appendDecimal(line, to: &output)
        output.append(contentsOf: ",\"messageId\":".utf8)
        if let id = refusal.messageID {
            JSONText.appendString(id, to: &output)
        } else {
            output.append(contentsOf: "null".utf8)
        }
        output.append(contentsOf: ",\"reason\":\"".utf8)
        output.append(contentsOf: refusal.reason.rawValue.utf8)
        output.append(contentsOf: "\",\"detail\":".utf8)
        JSONText.appendString(refusal.detail, to: &output)
        output.append(contentsOf: "}}\n".utf8)
    }

    private static func appendDecimal(_ number: UInt64, to output: inout [UInt8]) {
        let start = output.count
        var rest = number
        repeat {
            output.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        output[start...].reverse()
    }
}
