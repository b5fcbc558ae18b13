import CCurl
import Synchronization

/// libcurl rejected an option or could not create a handle.
struct CurlError: Error, CustomStringConvertible {
    var description: String
}

/// One libcurl easy handle: a request's settings, its body, and the response as it arrives. It is set up once and
/// reused for many requests.
///
/// Only this file, MultiHandle and CurlURL call libcurl from Swift. Unsafe parts: libcurl holds an unretained pointer
/// to this object, which only callbacks use, while a MultiHandle retains the object; and this object owns and frees the
/// memory behind `curl`, `errorBuffer` and `lists`.
///
/// Threads: the destination owns the handle and uses it in its worker's turns. From `HTTPEngine.begin` to the
/// transfer's end the engine's thread owns it. Each handover goes through a lock.
@safe final class EasyHandle: @unchecked Sendable {
    /// Larger bodies are passed to libcurl in pieces, straight from the array. Smaller ones are copied, so that headers
    /// and body leave in one packet.
    private static let smallBody = 16 << 10
    /// How many bytes of a body libcurl takes and sends at once (CURLOPT_UPLOAD_BUFFERSIZE), in memory that version
    /// 7.88 frees when the request has ended.
    private static let sendSize = 64 << 10
    /// For bodies above `sendSize`: with that, a large body takes a tenth more of the processor. With 1 MiB, the memory
    /// would be returned to the system each time.
    private static let largeSendSize = 256 << 10
    /// The most bytes of header in a response. A server that sends more is cut off.
    private static let maximumHeader = 256 << 10

    let curl: UnsafeMutableRawPointer
    private let errorBuffer: UnsafeMutablePointer<CChar>
    /// Lists that libcurl holds pointers to, by option.
    private var lists: [UInt32: UnsafeMutablePointer<curl_slist>] = unsafe [:]
    private let maximumResponseBody: Int

    private let isLent = Atomic(false)
    private var body: [UInt8] = []
    private var sent = 0
    private var headerBytes = 0
    /// The response body, at most `maximumResponseBody` bytes of it.
    private(set) var responseBody: [UInt8] = []
    /// The body was longer than `maximumResponseBody`. The transfer was ended there, which libcurl reports as an error.
    private(set) var responseWasCut = false

    /// - Parameter maximumResponseBody: the most bytes of a response body to keep.
    init(maximumResponseBody: Int) throws(CurlError) {
        guard CurlLibrary.isReady, let curl = unsafe curl_easy_init() else {
            throw CurlError(description: "libcurl could not make a handle: out of memory")
        }
        unsafe self.curl = curl
        unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        self.maximumResponseBody = maximumResponseBody
        try check(unsafe ccurl_set_error_buffer(curl, errorBuffer))
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try check(unsafe ccurl_set_callbacks(curl, readBody, seekBody, writeResponseBody, writeHeader, context))
    }

    deinit {
        unsafe curl_easy_cleanup(curl)
        unsafe lists.values.forEach { unsafe curl_slist_free_all($0) }
        unsafe errorBuffer.deallocate()
    }

    /// Hands the handle to the engine, until `takeBack`.
    func lend() {
        precondition(!isLent.exchange(true, ordering: .acquiringAndReleasing), "a handle is in one transfer at a time")
    }

    func takeBack() {
        isLent.store(false, ordering: .releasing)
    }

    private func mustBeOurs() {
        precondition(!isLent.load(ordering: .relaxed), "a handle is not touched while the HTTP engine has it")
    }

    func set(_ option: CURLoption, _ value: Int) throws(CurlError) {
        mustBeOurs()
        try check(unsafe ccurl_set_long(curl, option, value))
    }

    func set(_ option: CURLoption, _ value: String) throws(CurlError) {
        mustBeOurs()
        try check(unsafe ccurl_set_string(curl, option, value))
    }

    /// Sets an option that takes a list, such as the headers. Each line is `Name: value` without a line end. The caller
    /// checks the lines.
    func set(_ option: CURLoption, _ lines: [String]) throws(CurlError) {
        mustBeOurs()
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = unsafe curl_slist_append(list, line) else {
                unsafe curl_slist_free_all(list)
                throw CurlError(description: "libcurl could not take a list of options: out of memory")
            }
            unsafe list = longer
        }
        try check(unsafe ccurl_set_list(curl, option, list))
        if let old = unsafe lists[option.rawValue] { unsafe curl_slist_free_all(old) }
        unsafe lists[option.rawValue] = list
    }

    /// Sets the body of the next request and clears the last response.
    /// - Parameter body: nil: the request has none, as a GET or a DELETE.
    func prepare(_ body: [UInt8]?) throws(CurlError) {
        mustBeOurs()
        sent = 0
        headerBytes = 0
        responseBody = []
        responseWasCut = false
        unsafe errorBuffer[0] = 0
        guard let body else {
            self.body = []
            return try set(CURLOPT_HTTPGET, 1)
        }
        try set(CURLOPT_UPLOAD_BUFFERSIZE, body.count > Self.sendSize ? Self.largeSendSize : Self.sendSize)
        if body.count <= Self.smallBody {
            self.body = []
            let code = unsafe body.withUnsafeBytes { bytes in
                // An empty array may have no address, which libcurl would take as "no body set".
                guard let start = bytes.baseAddress else { return unsafe ccurl_set_body_copy(curl, "", 0) }
                return unsafe ccurl_set_body_copy(curl, start, curl_off_t(bytes.count))
            }
            try check(code)
        } else {
            self.body = body
            try check(unsafe ccurl_set_body_from_callback(curl, curl_off_t(body.count)))
        }
    }

    /// Releases the request's body. The response stays until the next request.
    func releaseBody() {
        body = []
    }

    /// The status code of the response; 0: no response arrived.
    var status: Int { headerBytes > 0 ? unsafe ccurl_status(curl) : 0 }

    /// The URL that the last request was sent to.
    var effectiveURL: String { unsafe ccurl_effective_url(curl).map { unsafe String(cString: $0) } ?? "" }

    /// libcurl's description of an error.
    func errorText(_ code: CURLcode) -> String {
        let detail = unsafe String(cString: errorBuffer)
        return unsafe detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    }

    /// The first header of this name in the response.
    func header(_ name: String) -> String? {
        guard headerBytes > 0 else { return nil }
        var found: UnsafeMutablePointer<curl_header>?
        guard unsafe curl_easy_header(curl, name, 0, UInt32(CURLH_HEADER), -1, &found) == CURLHE_OK,
            let value = unsafe found?.pointee.value
        else { return nil }
        return unsafe String(cString: value)
    }

    private func check(_ code: CURLcode) throws(CurlError) {
        if code != CURLE_OK { throw CurlError(description: unsafe String(cString: curl_easy_strerror(code))) }
    }

    // The work of libcurl's callbacks, called within MultiHandle.perform.

    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, body.count - sent)
        unsafe body.withUnsafeBytes { bytes in
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[sent..<sent + count]))
        }
        sent += count
        return count
    }

    fileprivate func seek(to offset: Int) -> Bool {
        guard (0...body.count).contains(offset) else { return false }
        sent = offset
        return true
    }

    /// Returns false to end the transfer.
    fileprivate func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let room = maximumResponseBody - responseBody.count
        unsafe responseBody.append(contentsOf: bytes.prefix(room))
        responseWasCut = bytes.count > room
        return !responseWasCut
    }

    fileprivate func takeHeader(count: Int) -> Bool {
        headerBytes += count
        return headerBytes <= Self.maximumHeader
    }
}

/// libcurl's process-wide initialisation, done at first use.
enum CurlLibrary {
    static let isReady: Bool = ccurl_prepare() == CURLE_OK
}

// File-level functions rather than closures: a C callback must not be isolated to an actor.

private func handle(_ context: UnsafeMutableRawPointer?) -> EasyHandle? {
    unsafe context.map { unsafe Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue() }
}

private func readBody(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let handle = unsafe handle(context) else { return Int(CURL_READFUNC_ABORT) }
    return unsafe handle.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
}

private func seekBody(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    guard origin == 0, let handle = unsafe handle(context), handle.seek(to: Int(offset)) else {
        return Int32(CURL_SEEKFUNC_FAIL)
    }
    return Int32(CURL_SEEKFUNC_OK)
}

private func writeResponseBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let length = size * count
    guard let handle = unsafe handle(context),
        unsafe handle.take(UnsafeRawBufferPointer(start: bytes, count: length))
    else { return 0 }
    return length
}

private func writeHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let length = size * count
    guard let handle = unsafe handle(context), handle.takeHeader(count: length) else { return 0 }
    return length
}
