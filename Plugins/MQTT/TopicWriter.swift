import EventTemplates
import PenstockPluginKit

/// Writes the topic of each event.
final class TopicWriter {
    /// The longest topic in MQTT, in bytes.
    static let maximumLength = 65535

    private let template: EventTemplate
    private let fields = EventFields()

    /// Whether all events have the same topic.
    var isFixed: Bool { template.isFixed }

    /// - Throws: an error that names the setting.
    init(_ topic: String) throws(SinkError) {
        template = try EventTemplate(topic, setting: "topic", fields: fields)
    }

    func topic(of event: Event, _ payload: Span<UInt8>) -> [UInt8] {
        var topic: [UInt8] = []
        fields.read(payload)
        template.append(kind: event.kindName, payload, fields, to: &topic, encode: Self.encode)
        return topic
    }

    /// Appends a value as part of one level. Characters that have a meaning in topics, and those that MQTT forbids, are
    /// written as in URLs, so different values stay different.
    private static func encode(_ value: Span<UInt8>, _ output: inout [UInt8]) {
        let text = unsafe value.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        for character in text.unicodeScalars {
            if isPlain(character) {
                output.append(contentsOf: String(character).utf8)
                continue
            }
            for byte in String(character).utf8 {
                output.append(UInt8(ascii: "%"))
                for digit in [byte >> 4, byte & 15] {
                    output.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
                }
            }
        }
    }

    private static func isPlain(_ character: Unicode.Scalar) -> Bool {
        switch character.value {
        // Control characters and noncharacters (MQTT 5, 1.5.4).
        case 0..<0x20, 0x7F..<0xA0, 0xFDD0...0xFDEF: false
        case let value where value & 0xFFFE == 0xFFFE: false
        default: !"/+#%$".unicodeScalars.contains(character)
        }
    }
}
