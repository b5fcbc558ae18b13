/// A reply of the server.
enum RedisReply {
    case text(String)
    case integer(Int64)
    case null
    case array([RedisReply])
    case error(RedisError)

    var text: String? { if case .text(let text) = self { text } else { nil } }
    /// An array of texts.
    var texts: [String]? {
        guard case .array(let items) = self else { return nil }
        let texts = items.compactMap(\.text)
        return texts.count == items.count ? texts : nil
    }
    var error: RedisError? { if case .error(let error) = self { error } else { nil } }
}
