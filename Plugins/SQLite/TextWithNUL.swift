import FoundationEssentials
import Glibc

/// Texts that contain U+0000, which SQLite's JSON functions would cut off there. They are bound as parameters instead.
enum TextWithNUL {
    private struct Fields: Decodable {
        var messageId: String?
        var event: String?
        var userId: String?
        var anonymousId: String?

        /// A field that is not a text is not this type's matter.
        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: Key.self)
            messageId = try? fields.decode(String.self, forKey: .messageId)
            event = try? fields.decode(String.self, forKey: .event)
            userId = try? fields.decode(String.self, forKey: .userId)
            anonymousId = try? fields.decode(String.self, forKey: .anonymousId)
        }

        private enum Key: String, CodingKey { case messageId, event, userId, anonymousId }
    }

    /// The parameters of the insertion, and their texts.
    static func find(in payload: UnsafeRawBufferPointer) -> [(parameter: Int32, text: String)] {
        guard unsafe mayContainNUL(payload), let base = payload.baseAddress,
            let fields = unsafe try? JSONDecoder().decode(Fields.self, from: Data(bytes: base, count: payload.count))
        else { return [] }
        return [(8, fields.messageId), (9, fields.event), (10, fields.userId), (11, fields.anonymousId)]
            .compactMap { parameter, text in
                guard let text, text.utf8.contains(0) else { return nil }
                return (Int32(parameter), text)
            }
    }

    /// Whether "\u0000" is in the payload, which few payloads have: they are not decoded.
    private static func mayContainNUL(_ payload: UnsafeRawBufferPointer) -> Bool {
        guard let start = payload.baseAddress else { return false }
        var place = 0
        while place < payload.count, let found = unsafe memchr(start + place, 0x5C, payload.count - place) {
            place = unsafe UnsafeRawPointer(found) - start
            if unsafe payload[place...].starts(with: #"\u0000"#.utf8) { return true }
            place += 1
        }
        return false
    }
}
