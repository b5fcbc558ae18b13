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
        var id: [UInt8] = []
        event.appendMessageID(to: &id)
        // A text that MQTT forbids keeps its JSON escapes.
        let text = String(decoding: id, as: UTF8.self)
        if !id.isEmpty, id.contains(0) || !add("message_id", text) { add("message_id", event.messageID) }
    }

    deinit { unsafe mosquitto_property_free_all(&list) }

    @discardableResult
    private func add(_ name: String, _ value: String) -> Bool {
        unsafe mosquitto_property_add_string_pair(
            &list, Int32(MQTT_PROP_USER_PROPERTY.rawValue), name, value) == MOSQ_ERR_SUCCESS.rawValue
    }
}
