/// A duration in settings, written as in the rest of the configuration: `500ms`, `5s`, `2m`, `1h`, `30d`.
public struct DurationSetting: Decodable, Sendable {
    public var duration: Duration

    public init(_ duration: Duration) { self.duration = duration }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let duration = Self.parse(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\"\(text)\" is not a duration; write for example 500ms, 5s or 2m")
        }
        self.duration = duration
    }

    /// - Parameter setting: its name, for the error.
    /// - Throws: if the duration is not within the bounds.
    public func check(_ setting: String, _ bounds: ClosedRange<Duration>) throws(SinkError) {
        guard bounds.contains(duration) else {
            let (least, most) = (Self.text(bounds.lowerBound), Self.text(bounds.upperBound))
            throw SinkError("settings.\(setting): is \(Self.text(duration)), but must be between \(least) and \(most)")
        }
    }

    private static let units: [(name: Substring, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    private static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        // So many days still fit into 64 bits of milliseconds.
        guard digits.count <= 9, let number = Int64(digits) else { return nil }
        let unit = units.first { $0.name == text.dropFirst(digits.count) }
        return unit.map { .milliseconds(number * $0.milliseconds) }
    }

    /// In the largest unit without a fraction.
    private static func text(_ duration: Duration) -> String {
        let milliseconds = duration.wholeMilliseconds
        if milliseconds == 0 { return "0s" }
        let unit = units.last { milliseconds.isMultiple(of: $0.milliseconds) } ?? units[0]
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }
}

extension Duration {
    /// Rounded towards zero. The largest number if there are too many.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? .max : milliseconds + attoseconds / 1_000_000_000_000_000
    }
}
