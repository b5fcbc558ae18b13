import CCurl
import Synchronization

/// libcurl refused an option or could not make a handle.
struct CurlError: Error, CustomStringConvertible {
    var description: String
}

/// One libcurl easy handle: a request's settings, its body on the way out, and the answer as it
/// comes in. Set up once, then used for one request after the other.
///
/// This file, MultiHandle and CurlURL are the only Swift that calls libcurl. What is unsafe here:
/// libcurl keeps a pointer to this object, which is why it is used only in callbacks that run
/// while a MultiHandle holds the object; and the memory behind `curl`, `errorBuffer` and
/// `lists`, which this object owns and frees.
///
/// Threads: it belongs to the destination, which uses it in the turns of its worker, but from `HTTPEngine.begin` to the
/// transfer's end to the engine's thread. One at a time, and each hands it over through a lock.
@safe final class EasyHandle: @unchecked Sendable {
    /// Above this, the body is handed to libcurl piece by piece, straight from the array; up to
    /// this it is copied, and goes out in one packet with the request's header.
    private static let smallBody = 16 << 10
    /// Bytes of header that an answer may have; a server that sends more is cut off.
    private static let maximumHeader = 256 << 10

    let curl: UnsafeMutableRawPointer
    private let errorBuffer: UnsafeMutablePointer<CChar>
    /// What libcurl holds pointers to, as long as it does.
    private var lists: [UInt32: UnsafeMutablePointer<curl_slist>] = unsafe [:]
    private let maximumAnswer: Int

    private let isLent = Atomic(false)
    private var body: [UInt8] = []
    private var sent = 0
    private var headerBytes = 0
    /// The answer's body, at most `maximumAnswer` bytes of it.
    private(set) var answer: [UInt8] = []
    /// The answer was longer than that. The transfer was ended there, which libcurl calls an error.
    private(set) var answerWasCut = false

    /// - Parameter maximumAnswer: bytes of the answer's body that are kept.
    init(maximumAnswer: Int) throws(CurlError) {
        guard CurlLibrary.isReady, let curl = unsafe curl_easy_init() else {
            throw CurlError(description: "libcurl could not make a handle: out of memory")
        }
        unsafe self.curl = curl
        unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        self.maximumAnswer = maximumAnswer
        try check(unsafe ccurl_set_error_buffer(curl, errorBuffer))
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try check(unsafe ccurl_set_callbacks(curl, readBody, seekBody, writeAnswer, writeHeader, context))
    }

    deinit {
        unsafe curl_easy_cleanup(curl)
        for unsafe list in unsafe lists.values { unsafe curl_slist_free_all(list) }
        unsafe errorBuffer.deallocate()
    }

    /// The engine has it until `takeBack`.
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

    /// For an option that takes a list, such as the headers: `Name: value` each, without line ends,
    /// checked by whoever calls.
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

    /// Makes ready for the next request: takes its body and forgets the last answer.
    func prepare(_ body: [UInt8]) throws(CurlError) {
        mustBeOurs()
        sent = 0
        headerBytes = 0
        answer = []
        answerWasCut = false
        unsafe errorBuffer[0] = 0
        if body.count <= Self.smallBody {
            self.body = []
            let code = unsafe body.withUnsafeBytes { bytes in
                // An empty array may have no address, which to libcurl would mean "no body set".
                guard let start = bytes.baseAddress else { return unsafe ccurl_set_body_copy(curl, "", 0) }
                return unsafe ccurl_set_body_copy(curl, start, curl_off_t(bytes.count))
            }
            try check(code)
        } else {
            self.body = body
            try check(unsafe ccurl_set_body_from_callback(curl, curl_off_t(body.count)))
        }
    }

    /// Lets go of the request's body; the answer stays until the next request.
    func releaseBody() {
        body = []
    }

    /// The status code of this request's answer; 0: none came.
    var status: Int { headerBytes > 0 ? unsafe ccurl_status(curl) : 0 }

    /// Where the last request went.
    var effectiveURL: String { unsafe ccurl_effective_url(curl).map { unsafe String(cString: $0) } ?? "" }

    /// libcurl's sentence about what went wrong.
    func errorText(_ code: CURLcode) -> String {
        let detail = unsafe String(cString: errorBuffer)
        return unsafe detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    }

    /// A header of this request's answer, the first of that name.
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

    // What libcurl's callbacks do; called within MultiHandle.perform.

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

    /// False ends the transfer.
    fileprivate func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let room = maximumAnswer - answer.count
        unsafe answer.append(contentsOf: bytes.prefix(room))
        answerWasCut = bytes.count > room
        return !answerWasCut
    }

    fileprivate func takeHeader(count: Int) -> Bool {
        headerBytes += count
        return headerBytes <= Self.maximumHeader
    }
}

/// libcurl's set-up for the whole process, done at the first use.
enum CurlLibrary {
    static let isReady: Bool = ccurl_prepare() == CURLE_OK
}

// File-level functions, not closures: what C calls must belong to no actor.

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

private func writeAnswer(
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
