import CMosquitto

/// A reason code of MQTT 5 (2.4): 128 and more are failures.
struct MQTTReason: Equatable {
    var code: Int32

    var isFailure: Bool { code >= 128 }

    /// Whether the message itself is at fault, whatever the state of the broker.
    var blamesMessage: Bool {
        [MQTT_RC_PACKET_TOO_LARGE, MQTT_RC_TOPIC_NAME_INVALID, MQTT_RC_PAYLOAD_FORMAT_INVALID]
            .contains { Int32(bitPattern: $0.rawValue) == code }
    }

    /// Whether the topic is at fault: the client may not publish to it.
    var blamesTopic: Bool { code == Int32(bitPattern: MQTT_RC_NOT_AUTHORIZED.rawValue) }

    /// The reason, and what the operator can do.
    var description: String {
        let text = unsafe mosquitto_reason_string(code).map { unsafe String(cString: $0) } ?? "unknown"
        return switch UInt32(bitPattern: code) {
        case MQTT_RC_NOT_AUTHORIZED.rawValue:
            "\(text): check settings.username, settings.password and the broker's access rules"
        case MQTT_RC_BAD_USERNAME_OR_PASSWORD.rawValue:
            "\(text): check settings.username and settings.password"
        case MQTT_RC_SESSION_TAKEN_OVER.rawValue:
            "\(text): another client has the same id: set another settings.client_id"
        case MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION.rawValue, UInt32(CONNACK_REFUSED_PROTOCOL_VERSION.rawValue):
            "\(text): this plugin needs a broker with MQTT 5"
        case MQTT_RC_RETAIN_NOT_SUPPORTED.rawValue: "\(text): set settings.retain: false"
        case MQTT_RC_QOS_NOT_SUPPORTED.rawValue: "\(text): this plugin needs a broker with QoS 1"
        default: "\(text) (reason code \(code))"
        }
    }
}
