import CMosquitto
import EventTemplates
import Glibc
import PenstockPluginKit

/// The properties of one message: what the payload is, and what a consumer needs to recognise a repeated event.
///
/// Unsafe part: the library's list, which this object frees.
@safe final class MQTTProperties {
    private(set) var list: OpaquePointer?

    /// Leaves out what there is no memory for.
    init(of event: Event) {
        unsafe list = nil
        _ = unsafe mosquitto_property_add_byte(&list, Int32(MQTT_PROP_PAYLOAD_FORMAT_INDICATOR.rawValue), 1)
        _ = unsafe mosquitto_property_add_string(
            &list, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), "application/json")
        add("kind", event.kindName)
        add("position", String(event.position))
        add("part", String(event.part))
        guard let id = event.decodedMessageID else { return }
        // A text that MQTT forbids keeps its JSON escapes: a broker ends the connection that sends it.
        add("message_id", Self.isAllowed(id) ? id : event.messageID)
    }

    deinit { unsafe mosquitto_property_free_all(&list) }

    /// Whether MQTT allows the text (MQTT 5, 1.5.4): UTF-8 without control characters and noncharacters.
    static func isAllowed(_ text: String) -> Bool {
        guard text.utf8.count <= 65535 else { return false }
        let status = unsafe Array(text.utf8).withUnsafeBytes { text in
            unsafe mosquitto_validate_utf8(text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(text.count))
        }
        return status == MOSQ_ERR_SUCCESS.rawValue
    }

    private func add(_ name: String, _ value: String) {
        _ = unsafe mosquitto_property_add_string_pair(&list, Int32(MQTT_PROP_USER_PROPERTY.rawValue), name, value)
    }
}
