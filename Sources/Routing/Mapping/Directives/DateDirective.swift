import Events

extension Directive {
    static let date = Directive(
        "$date",
        .arguments(
            [
                Argument("value", .value, required: true, "a time in RFC 3339 format"),
                Argument(
                    "format", .choice(DateNode.Format.allCases.map(\.rawValue)), default: "rfc3339",
                    "the output format; epoch_… gives a whole number, epoch_decimal seconds with a fraction"),
            ], shorthand: "value"),
        "a time in another format; the result is missing if the value is not a time, or if the format cannot represent"
            + " it"
    ) { arguments throws(DirectiveFault) in
        DateNode(
            value: try arguments.required("value"),
            format: arguments.text("format").flatMap(DateNode.Format.init(rawValue:)) ?? .rfc3339)
    }
}

private struct DateNode: MappingNode {
    enum Format: String, CaseIterable, Sendable {
        case rfc3339, date, epoch_seconds, epoch_milliseconds, epoch_microseconds, epoch_nanoseconds, epoch_decimal
    }

    let value: any MappingNode
    let format: Format

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        guard let time = scope.time(value) else { return isNull(scope, &output) }
        switch format {
        case .rfc3339: return append(time, length: .max, to: &output)
        case .date: return append(time, length: 10, to: &output)
        case .epoch_seconds: return append(time, perSecond: 1, to: &output)
        case .epoch_milliseconds: return append(time, perSecond: 1_000, to: &output)
        case .epoch_microseconds: return append(time, perSecond: 1_000_000, to: &output)
        case .epoch_nanoseconds: return append(time, perSecond: 1_000_000_000, to: &output)
        case .epoch_decimal: return appendDecimal(time, to: &output)
        }
    }

    private func isNull(_ scope: borrowing MappingScope, _ output: inout [UInt8]) -> Bool {
        var text = scope.run.takeBuffer()
        defer { scope.run.giveBack(&text) }
        guard scope.read(value, into: &text) == .null else { return false }
        output.append(contentsOf: text.span)
        return true
    }

    /// Appends nothing for a time that RFC 3339 cannot represent, such as a year of five digits.
    private func append(_ time: EventTime, length: Int, to output: inout [UInt8]) -> Bool {
        let start = output.count
        output.append(UInt8(ascii: "\""))
        guard Timestamp.append(time, to: &output) else {
            output.removeLast(output.count - start)
            return false
        }
        if output.count - start - 1 > length { output.removeLast(output.count - start - 1 - length) }
        output.append(UInt8(ascii: "\""))
        return true
    }

    /// Appends seconds with three digits of a fraction: `1769860800.000`.
    private func appendDecimal(_ time: EventTime, to output: inout [UInt8]) -> Bool {
        guard let count = time.count(perSecond: 1000) else { return false }
        if count < 0 { output.append(UInt8(ascii: "-")) }
        output.appendDecimal(Int64(count.magnitude / 1000))
        output.append(UInt8(ascii: "."))
        let fraction = UInt8(count.magnitude % 1000 / 100), rest = UInt8(count.magnitude % 100)
        for digit in [fraction, rest / 10, rest % 10] { output.append(UInt8(ascii: "0") + digit) }
        return true
    }

    /// Appends a whole number of units, rounded down so that times before 1970 are in order too. Appends nothing if the
    /// number does not fit 64 bits.
    private func append(_ time: EventTime, perSecond: Int64, to output: inout [UInt8]) -> Bool {
        guard let count = time.count(perSecond: perSecond) else { return false }
        output.appendDecimal(count)
        return true
    }
}

extension [UInt8] {
    fileprivate mutating func appendDecimal(_ value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        var unit: UInt64 = 1
        while value.magnitude / unit > 9 { unit *= 10 }
        while unit > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value.magnitude / unit % 10))
            unit /= 10
        }
    }
}
