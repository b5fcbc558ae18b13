import CHiredis
import Glibc
import PenstockPluginKit

/// The connection has ended or did not answer in time. What was sent on it may have been executed.
struct RedisConnectionLost: Error {
    var reason: String
}

/// One connection, by hiredis in blocking mode. Use by one thread at a time. After an error it can only be released.
///
/// Unsafe part: hiredis' context and replies.
@safe final class RedisConnection {
    private let context: UnsafeMutablePointer<redisContext>

    /// - Parameter timeout: for the connection, and then for each wait for the server.
    init(_ address: RedisSettings.Address, timeout: Duration) throws(RedisConnectionLost) {
        let (seconds, attoseconds) = timeout.components
        let limit = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        let made =
            switch address {
            case .server(let server): unsafe redisConnectWithTimeout(server.host, Int32(server.port), limit)
            case .socket(let path): unsafe redisConnectUnixWithTimeout(path, limit)
            }
        guard let context = unsafe made else { throw RedisConnectionLost(reason: "out of memory") }
        unsafe self.context = context
        // A field that `deinit` frees is set by now, so the context is freed if this throws.
        guard unsafe context.pointee.err == 0, unsafe redisSetTimeout(context, limit) == REDIS_OK else { throw lost }
        if case .server = address { _ = unsafe redisEnableKeepAlive(context) }
    }

    deinit { unsafe redisFree(context) }

    /// Queues the request, which the next `reply` sends.
    func send(_ request: RedisRequest) throws(RedisConnectionLost) {
        let status = unsafe request.bytes.withUnsafeBytes { bytes in
            unsafe redisAppendFormattedCommand(
                context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard status == REDIS_OK else { throw lost }
    }

    /// The next reply. Sends what is queued first.
    func reply() throws(RedisConnectionLost) -> RedisReply {
        var reply: UnsafeMutableRawPointer?
        guard unsafe redisGetReply(context, &reply) == REDIS_OK, let reply = unsafe reply else { throw lost }
        defer { unsafe freeReplyObject(reply) }
        return unsafe Self.decode(reply.assumingMemoryBound(to: redisReply.self))
    }

    /// Sends one command and reads its reply.
    func ask(_ words: [String]) throws(RedisConnectionLost) -> RedisReply {
        var request = RedisRequest()
        request.command(words)
        try send(request)
        return try reply()
    }

    private static func decode(_ reply: UnsafePointer<redisReply>) -> RedisReply {
        switch unsafe reply.pointee.type {
        case REDIS_REPLY_INTEGER: return .integer(unsafe reply.pointee.integer)
        case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: return .text(unsafe text(of: reply))
        case REDIS_REPLY_ERROR: return .error(RedisError(message: unsafe text(of: reply)))
        case REDIS_REPLY_ARRAY:
            let count = unsafe reply.pointee.elements
            return .array(
                (0..<count).map { index in
                    guard let element = unsafe reply.pointee.element[index] else { return .null }
                    return unsafe decode(element)
                })
        default: return .null
        }
    }

    private static func text(of reply: UnsafePointer<redisReply>) -> String {
        unsafe String(
            decoding: UnsafeRawBufferPointer(start: reply.pointee.str, count: reply.pointee.len), as: UTF8.self)
    }

    private var lost: RedisConnectionLost {
        // hiredis reports a timeout as EAGAIN's text.
        if unsafe context.pointee.err == REDIS_ERR_IO, errno == EAGAIN || errno == ETIMEDOUT {
            return RedisConnectionLost(reason: "the server did not answer within settings.timeout")
        }
        let text = unsafe withUnsafeBytes(of: context.pointee.errstr) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return RedisConnectionLost(reason: text.isEmpty ? "the connection ended" : text)
    }
}
