import PenstockPluginKit

/// A duration in settings: `500ms`, `5s`, `2m`, `1h`, `30d`.
package struct DurationSetting: Decodable, Sendable {
    package var duration: Duration

    package init(_ duration: Duration) { self.duration = duration }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let duration = Self.parse(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\"\(text)\" is not a duration; write for example 500ms, 5s or 2m")
        }
        self.duration = duration
    }

    package var milliseconds: Int64 {
        let (seconds, attoseconds) = duration.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }

    /// - Throws: if the duration is not within the bounds.
    package func check(_ setting: String, _ least: Duration, _ most: Duration) throws(SinkError) {
        guard duration >= least, duration <= most else {
            throw SinkError("settings.\(setting): must be between \(least) and \(most)")
        }
    }

    private static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        // A year has less than ten digits of seconds.
        guard digits.count <= 9, let number = Int64(digits) else { return nil }
        switch text.dropFirst(digits.count) {
        case "ms": return .milliseconds(number)
        case "s": return .seconds(number)
        case "m": return .seconds(number * 60)
        case "h": return .seconds(number * 3600)
        case "d": return .seconds(number * 86_400)
        default: return nil
        }
    }
}
