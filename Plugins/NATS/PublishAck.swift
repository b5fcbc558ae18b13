import Events
import PenstockPluginKit

/// JetStream's answer to a message: `{"stream":"EVENTS","seq":7}`, or
/// `{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"},"stream":"EVENTS","seq":0}`.
struct PublishAck: Equatable {
    var outcome: Outcome
    /// The stream had a message with this Nats-Msg-Id already.
    var isDuplicate = false

    /// Belongs to one thread at a time.
    final class Reader {
        private let values = PathReader(
            PathSet(
                [["stream"], ["duplicate"], ["error"], ["error", "err_code"], ["error", "description"]].map {
                    FieldPath($0)
                }))

        func read(_ json: Span<UInt8>) -> PublishAck {
            guard values.read(json) != .unreadable else { return .unknown }
            if values[2].type == .object {
                let code = text(3, json).flatMap { Int($0) } ?? 0
                return .failed(code, text(4, json) ?? "error \(code)")
            }
            guard values[0].isString else { return .unknown }
            return PublishAck(outcome: .delivered, isDuplicate: values[1].type == .true)
        }

        private func text(_ path: Int, _ json: Span<UInt8>) -> String? {
            let value = values[path]
            guard value.isString || value.type == .number else { return nil }
            return JSONText.string(json.extracting(value.slice.range))
        }
    }

    /// The message is larger than the stream's max_msg_size. Every other error is one of the stream, such as a full
    /// one, and the operator's to mend.
    private static let tooLarge = 10054

    private static let unknown = PublishAck(outcome: .retry(reason: "the reply is not an acknowledgement of JetStream"))

    private static func failed(_ code: Int, _ description: String) -> PublishAck {
        let reason = "JetStream: \(description) (err_code \(code))"
        return PublishAck(outcome: code == tooLarge ? .rejected(reason: reason) : .retry(reason: reason))
    }
}
