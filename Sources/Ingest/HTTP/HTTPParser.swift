import CNIOLLHTTP
import Events

/// Splits a client's bytes into HTTP/1.1 requests, with llhttp as SwiftNIO contains it. llhttp is strict here: it
/// refuses all that two parsers may read differently (RFC 9112, section 11.2: request smuggling): two Content-Length
/// fields, Content-Length beside Transfer-Encoding, a line that ends without a carriage return, a field on two lines.
///
/// A client that sends small requests sends the same head again and again. A head that differs from the one before in
/// the digits of its Content-Length at most is not parsed again.
///
/// Belongs to one thread.
@safe final class HTTPParser {
    enum Event {
        /// All bytes were read.
        case needsMore
        /// - Parameter isRepeated: whether it is the connection's last head with another Content-Length at most.
        case head(HTTPRequestHead, isRepeated: Bool)
        case end
        /// The bytes are not HTTP/1.1. Nothing more can be read.
        case failed(String)
    }

    /// Whether a request has begun and has not ended.
    private(set) var isInRequest = false
    /// Whether the request's target and fields, those behind the body included, are larger than the limit.
    private(set) var isHeadTooLarge = false
    /// Bytes of the body since the last `takeBody`, as sent.
    private(set) var body: [UInt8] = []
    /// Whether the next event may need no more bytes: call `parse` again, if only with none.
    private(set) var isAfterHead = false
    /// Bytes of memory that depend on what the client sends.
    var heldBytes: Int {
        body.capacity + head.heldBytes + name.capacity + value.capacity + (known.map { $0.heldBytes } ?? 0)
    }
    /// Whether the body is kept.
    var keepsBody = true

    /// llhttp keeps pointers to its state, so the state must not move.
    private let state: UnsafeMutablePointer<llhttp_t>
    private var head = HTTPRequestHead()
    private var name: [UInt8] = []
    private var value: [UInt8] = []
    private var headSize = 0
    /// Bytes of the head that were read, with the spaces and separators that `headSize` does not count.
    private var headRead = 0
    private var isInHead = true
    /// How many times `maximumHead` the bytes of a head may be.
    private static let headOverhead = 4
    private let maximumHead: Int
    private var paused: Pause?
    /// The last head, if it may come again.
    private var known: KnownHead?
    /// Whether llhttp has read a part of what may stand before a request: an empty line.
    private var hasBlank = false
    /// Bytes of the body that are still to come behind a head that was not parsed.
    private var bodyLeft: UInt64?

    private enum Pause { case head, end }

    /// - Parameter maximumHead: bytes of a request's target and fields.
    init(maximumHead: Int) {
        self.maximumHead = maximumHead
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: llhttp_t())
        unsafe c_nio_llhttp_init(state, HTTP_REQUEST, Self.settings.pointer)
        unsafe state.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit { unsafe state.deallocate() }

    /// Reads up to the next event.
    /// - Returns: the event, and how many bytes were read.
    func parse(_ bytes: Span<UInt8>) -> (event: Event, used: Int) {
        if let left = bodyLeft { return readBody(bytes, left) }
        let isAtStart = !isInRequest && !hasBlank
        if isAtStart, let (head, count) = known?.match(bytes) {
            begin()
            bodyLeft = head.contentLength
            isAfterHead = true
            return (.head(head, isRepeated: true), count)
        }
        var used = 0
        while used < bytes.count || isAfterHead {
            paused = nil
            isAfterHead = false
            let wasInHead = isInHead
            let rest = bytes.extracting(used...)
            var count = rest.count
            let result = unsafe rest.withUnsafeBufferPointer { rest in
                let result = unsafe c_nio_llhttp_execute_swift(state, rest.baseAddress, rest.count)
                if result != HPE_OK, let end = unsafe c_nio_llhttp_get_error_pos(state), let start = rest.baseAddress {
                    let read = unsafe UnsafeRawPointer(end) - UnsafeRawPointer(start)
                    count = min(max(read, 0), rest.count)
                }
                return result
            }
            used += count
            if wasInHead {
                headRead += count
                if headRead > Self.headOverhead * maximumHead { isHeadTooLarge = true }
            }
            if isHeadTooLarge { return (.failed("its head is too large"), used) }
            switch result {
            case HPE_OK:
                hasBlank = !isInRequest
                return (.needsMore, used)
            case HPE_PAUSED:
                unsafe c_nio_llhttp_resume(state)
                switch paused {
                case .head:
                    isAfterHead = true
                    defer { forgetHead() }
                    known = isAtStart ? KnownHead(head, bytes.extracting(first: used)) : nil
                    return (.head(head, isRepeated: false), used)
                case .end, nil: return (.end, used)
                }
            default: return (.failed(reason(of: result)), used)
            }
        }
        return (.needsMore, used)
    }

    /// Reads a body without the parser, which is where it was before the request.
    private func readBody(_ bytes: Span<UInt8>, _ left: UInt64) -> (event: Event, used: Int) {
        isAfterHead = false
        let count = Int(min(left, UInt64(bytes.count)))
        if keepsBody { body.append(contentsOf: bytes.extracting(first: count)) }
        guard left == count else {
            bodyLeft = left - UInt64(count)
            return (.needsMore, count)
        }
        bodyLeft = nil
        isInRequest = false
        return (.end, count)
    }

    /// Whether the last head may come again without being parsed.
    var knowsHead: Bool { known != nil }

    /// An idle connection holds no memory for the request before.
    func rest() {
        if !isInRequest { known = nil }
    }

    func takeBody() -> [UInt8] {
        defer { body = [] }
        return body
    }

    private static let remedy = " (RFC 9112); correct the client, or let an HTTP library write its requests"

    private func reason(of result: llhttp_errno_t) -> String {
        switch result {
        case HPE_INVALID_METHOD:
            return """
                it does not begin with a known method, such as POST; lines of events belong on the Unix socket and \
                begin with {, and HTTPS belongs on a source with tls
                """
        case HPE_PAUSED_UPGRADE, HPE_PAUSED_H2_UPGRADE:
            return "it asks for HTTP/2 or another protocol; send HTTP/1.1"
        default: break
        }
        if let reason = unsafe c_nio_llhttp_get_error_reason(state) {
            let text = unsafe String(cString: reason)
            if !text.isEmpty { return text + Self.remedy }
        }
        return unsafe String(cString: c_nio_llhttp_errno_name(result)) + Self.remedy
    }

    // MARK: Callbacks

    private func begin() {
        isInRequest = true
        headSize = 0
        headRead = 0
        forgetHead()
        body = []
        keepsBody = true
    }

    /// Frees memory. No `parse` may follow.
    func forget() {
        forgetHead()
        known = nil
        body = []
    }

    private func forgetHead() {
        head = HTTPRequestHead()
        name = []
        value = []
    }

    /// - Returns: what the callback returns: not 0 ends the parsing.
    private func count(_ bytes: Int) -> Int32 {
        headSize += bytes
        isHeadTooLarge = headSize > maximumHead
        return isHeadTooLarge ? -1 : 0
    }

    private func endField() {
        defer {
            name.removeAll(keepingCapacity: true)
            value.removeAll(keepingCapacity: true)
        }
        guard let field = HTTPParser.field(named: name) else { return }
        if head.fields.set(field, Array(HTTPText.trimmed(value[...]))) { head.repeated.insert(field) }
    }

    private func endHead() {
        paused = .head
        isInHead = false
        // The client may offer another protocol. A server may go on with HTTP/1.1 (RFC 9110, section 7.8).
        unsafe state.pointee.upgrade = 0
        let (flags, method) = unsafe (Int(state.pointee.flags), llhttp_method_t(UInt32(state.pointee.method)))
        head.method =
            switch method {
            case HTTP_GET: .get
            case HTTP_HEAD: .head
            case HTTP_POST: .post
            case HTTP_OPTIONS: .options
            default: .other
            }
        head.version = unsafe (state.pointee.http_major, state.pointee.http_minor)
        head.isChunked = flags & Int(F_CHUNKED.rawValue) != 0
        if flags & Int(F_CONTENT_LENGTH.rawValue) != 0 { head.contentLength = unsafe state.pointee.content_length }
        head.keepsAlive = unsafe c_nio_llhttp_should_keep_alive(state) != 0
    }

    private func endRequest() {
        isInRequest = false
        hasBlank = false
        isInHead = true
        // The fields behind a chunked body.
        forgetHead()
        paused = .end
    }

    private static let fields = HTTPField.allCases.map { (name: Array($0.name.utf8), field: $0) }

    /// Faster than a dictionary, which hashes every name byte by byte.
    private static func field(named name: [UInt8]) -> HTTPField? {
        for known in fields where known.name.count == name.count && known.name == name { return known.field }
        return nil
    }

    /// The functions that llhttp calls. It keeps a pointer to them. Unchecked: nothing changes them.
    @safe private final class Settings: @unchecked Sendable {
        let pointer: UnsafeMutablePointer<llhttp_settings_t>

        init() {
            unsafe pointer = .allocate(capacity: 1)
            unsafe pointer.initialize(to: llhttp_settings_t())
            unsafe c_nio_llhttp_settings_init(pointer)
            unsafe pointer.pointee.on_message_begin = {
                unsafe HTTPParser.of($0).begin(); return 0
            }
            unsafe pointer.pointee.on_url = {
                let parser = unsafe HTTPParser.of($0)
                unsafe parser.head.target += HTTPParser.bytes($1, $2)
                return parser.count($2)
            }
            unsafe pointer.pointee.on_header_field = {
                let parser = unsafe HTTPParser.of($0)
                unsafe parser.name.append(contentsOf: HTTPParser.bytes($1, $2).lazy.map { HTTPText.lowercased($0) })
                return parser.count($2)
            }
            unsafe pointer.pointee.on_header_value = {
                let parser = unsafe HTTPParser.of($0)
                if HTTPParser.field(named: parser.name) != nil { unsafe parser.value += HTTPParser.bytes($1, $2) }
                return parser.count($2)
            }
            unsafe pointer.pointee.on_header_value_complete = {
                unsafe HTTPParser.of($0).endField(); return 0
            }
            unsafe pointer.pointee.on_headers_complete = {
                unsafe HTTPParser.of($0).endHead()
                return Int32(HPE_PAUSED.rawValue)
            }
            unsafe pointer.pointee.on_body = {
                let parser = unsafe HTTPParser.of($0)
                if parser.keepsBody { unsafe parser.body += HTTPParser.bytes($1, $2) }
                return 0
            }
            unsafe pointer.pointee.on_message_complete = {
                unsafe HTTPParser.of($0).endRequest()
                return Int32(HPE_PAUSED.rawValue)
            }
        }
    }

    private static let settings = Settings()

    private static func of(_ state: UnsafeMutablePointer<llhttp_t>?) -> HTTPParser {
        guard let object = unsafe state?.pointee.data else { preconditionFailure("llhttp lost its parser") }
        return unsafe Unmanaged<HTTPParser>.fromOpaque(object).takeUnretainedValue()
    }

    private static func bytes(_ start: UnsafePointer<CChar>?, _ count: Int) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: start, count: count)
    }
}
