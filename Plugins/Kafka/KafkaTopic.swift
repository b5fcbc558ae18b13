import EventTemplates
import Events
import PenstockPluginKit

/// Makes the topic and the key of each event.
struct KafkaTopic {
    /// The longest name that a broker accepts.
    static let maximumLength = 249

    /// The topic of all events; nil: it depends on the event.
    let fixed: String?

    private let template: EventTemplate
    private let fields = EventFields()
    /// The first of these fields that has a value is the key.
    private var keys: [Int] = []
    private var bytes: [UInt8] = []

    /// - Throws: an error that names the setting.
    init(_ settings: KafkaSettings) throws(SinkError) {
        let text = settings.topic
        template = try EventTemplate(text, setting: "topic", fields: fields, beginning: .fixedTextOrKind)
        guard template.fixedTexts.joined().utf8.allSatisfy(Self.isSafe) else {
            throw SinkError(
                "settings.topic: \"\(text)\" may only have the characters A-Z a-z 0-9 . _ - and placeholders")
        }
        fixed = template.isFixed ? text : nil
        if let fixed, let why = Self.problem(fixed) { throw SinkError("settings.topic: \"\(text)\" \(why)") }
        let paths = settings.key.map { $0.isEmpty ? [] : [$0] } ?? ["userId", "anonymousId"]
        for path in paths {
            guard let parsed = FieldPath(written: path) else {
                throw SinkError("settings.key: \"\(path)\" is not the path of a field; write for example userId")
            }
            keys.append(fields.add(parsed))
        }
    }

    /// Why a broker would refuse the name.
    static func problem(_ topic: String) -> String? {
        if topic.utf8.count > maximumLength { return "has more than \(maximumLength) bytes" }
        return topic == "." || topic == ".." ? "is not a name of a topic" : nil
    }

    /// Reads an event: its topic, and its key, which is decoded text.
    /// - Returns: the topic; whether the event has a key.
    mutating func read(_ event: Event, _ payload: Span<UInt8>, key: inout [UInt8]) -> (topic: String, hasKey: Bool) {
        fields.read(payload)
        key.removeAll(keepingCapacity: true)
        // An empty id is none.
        let hasKey = keys.contains { fields[$0].appendText(from: payload, to: &key) && !key.isEmpty }
        if let fixed { return (fixed, hasKey) }
        bytes.removeAll(keepingCapacity: true)
        template.append(kind: event.kindName, payload, fields, to: &bytes, isSafe: Self.isSafe)
        return (String(decoding: bytes, as: UTF8.self), hasKey)
    }

    /// Whether a topic's name may have this byte.
    static func isSafe(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
