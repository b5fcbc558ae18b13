/// Builds protobuf messages for tests, with its own encoding: the tests do not trust the writer that they test.
struct ProtobufMessage {
    var bytes: [UInt8] = []

    static func varint(_ value: UInt64) -> [UInt8] {
        value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F) | 0x80] + varint(value >> 7)
    }

    func varint(_ field: UInt64, _ value: UInt64) -> ProtobufMessage {
        adding(Self.varint(field << 3) + Self.varint(value))
    }

    func fixed64(_ field: UInt64, _ value: UInt64) -> ProtobufMessage {
        adding(Self.varint(field << 3 | 1) + (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
    }

    func fixed32(_ field: UInt64, _ value: UInt32) -> ProtobufMessage {
        adding(Self.varint(field << 3 | 5) + (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
    }

    func bytes(_ field: UInt64, _ value: [UInt8]) -> ProtobufMessage {
        adding(Self.varint(field << 3 | 2) + Self.varint(UInt64(value.count)) + value)
    }

    func text(_ field: UInt64, _ value: String) -> ProtobufMessage { bytes(field, Array(value.utf8)) }

    func message(_ field: UInt64, _ value: ProtobufMessage) -> ProtobufMessage { bytes(field, value.bytes) }

    /// An attribute, a KeyValue.
    func attribute(_ field: UInt64, _ key: String, _ value: ProtobufMessage) -> ProtobufMessage {
        message(field, ProtobufMessage().text(1, key).message(2, value))
    }

    func attribute(_ field: UInt64, _ key: String, _ value: String) -> ProtobufMessage {
        attribute(field, key, ProtobufMessage().text(1, value))
    }

    private func adding(_ more: [UInt8]) -> ProtobufMessage { ProtobufMessage(bytes: bytes + more) }
}
