import ArgumentParser
import Events
import Foundation
import Platform

/// The options of `track`, `identify`, `page`, `screen`, `group` and `alias`. Each sends one event, which is on disk
/// when the command returns.
struct EventOptions: ParsableArguments {
    static let exitCodes: ExitCodes = [
        0: "the event is on disk", 1: "it was refused, or the daemon cannot be reached or did not answer in time",
    ]

    @OptionGroup var socket: SocketOption

    @Option(name: .customLong("user"), help: "The user's id (userId).")
    var user: String?

    @Option(name: .customLong("anonymous"), help: "The id of an unknown user (anonymousId).")
    var anonymous: String?

    @Option(help: "The time of the event, RFC 3339. Default: now.")
    var timestamp: String?

    @Option(
        name: .customShort("p"),
        help: ArgumentHelp(
            "A property or trait. VALUE is JSON if it is valid JSON (12.5, true, '\"007\"', '[1,2]'), "
                + "otherwise a string.",
            valueName: "KEY=VALUE"))
    var properties: [String] = []

    /// Sends the event and waits until it is on disk.
    /// - Parameters:
    ///   - fields: further top-level strings of the event.
    ///   - container: `properties` or `traits`; nil if the kind has neither.
    /// - Throws: a `ReportedError` with the reason if the daemon refuses the event.
    func send(_ kind: EventKind, _ fields: [(key: String, value: String?)] = [], container: String?) throws {
        var json = Array("{\"type\":\"\(kind.name)\"".utf8)
        let known: [(key: String, value: String?)] = [
            ("messageId", UUID().uuidString.lowercased()), ("userId", user), ("anonymousId", anonymous),
            ("timestamp", timestamp ?? Timestamp.format(SystemClock().wallClock())),
        ]
        for (key, value) in fields + known {
            guard let value else { continue }
            json.append(UInt8(ascii: ","))
            JSONText.appendString(key, to: &json)
            json.append(UInt8(ascii: ":"))
            JSONText.appendString(value, to: &json)
        }
        if let container, !properties.isEmpty {
            json += Array(",\"\(container)\":".utf8)
            json += try Self.object(properties)
        } else if container == nil && !properties.isEmpty {
            throw ValidationError("\(kind.name) does not accept -p")
        }
        json += Array(",\"context\":{\"library\":{\"name\":\"penstock\"}}}\n".utf8)

        let session = try EventSession(socket, acknowledgements: true)
        var refusal: EventSession.Refused?
        session.onRefusal = { refusal = $0 }
        try session.write(json)
        try session.finish(lines: 1)
        if let refusal {
            throw ReportedError("refused: \(refusal.reason): \(refusal.detail.withControlCharactersEscaped)")
        }
    }

    private static func object(_ properties: [String]) throws -> [UInt8] {
        var json = [UInt8(ascii: "{")]
        for property in properties {
            guard let equals = property.firstIndex(of: "="), equals != property.startIndex else {
                throw ValidationError("-p \(property): write KEY=VALUE")
            }
            if json.count > 1 { json.append(UInt8(ascii: ",")) }
            JSONText.appendString(String(property[..<equals]), to: &json)
            json.append(UInt8(ascii: ":"))
            let value = String(property[property.index(after: equals)...])
            if (try? JSONSerialization.jsonObject(with: Data(value.utf8), options: .fragmentsAllowed)) != nil {
                json += Array(value.utf8.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 })
            } else {
                JSONText.appendString(value, to: &json)
            }
        }
        json.append(UInt8(ascii: "}"))
        return json
    }
}
