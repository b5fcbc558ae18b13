import CCurl
import Glibc

/// libcurl's multi handle: many transfers on one thread, and the connections that they share.
///
/// One thread uses it; only `wakeUp` may come from others. What is unsafe here: the handle's
/// memory, owned and freed by this object; and the pointer to an EasyHandle that libcurl gives
/// back, which is good because `running` holds every EasyHandle that libcurl knows.
@safe final class MultiHandle: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer
    private var running: [ObjectIdentifier: EasyHandle] = [:]

    /// - Parameters:
    ///   - connections: open at once, for all hosts; more transfers wait.
    ///   - perHost: open at once to one host and port.
    ///   - idle: kept open for later use.
    init(connections: Int, perHost: Int, idle: Int) throws(CurlError) {
        guard CurlLibrary.isReady, let multi = unsafe curl_multi_init() else {
            throw CurlError(description: "libcurl could not make a multi handle: out of memory or descriptors")
        }
        unsafe self.multi = multi
        for (option, value) in [
            (CURLMOPT_MAX_TOTAL_CONNECTIONS, connections), (CURLMOPT_MAX_HOST_CONNECTIONS, perHost),
            (CURLMOPT_MAXCONNECTS, idle),
        ] where unsafe ccurl_multi_set_long(multi, option, value) != CURLM_OK {
            throw CurlError(description: "libcurl refused a bound on connections: \(value)")
        }
    }

    deinit {
        for easy in running.values { unsafe curl_multi_remove_handle(multi, easy.curl) }
        unsafe curl_multi_cleanup(multi)
    }

    /// Starts a transfer. libcurl sends nothing before the next `perform`.
    func add(_ easy: EasyHandle) throws(CurlError) {
        let code = unsafe curl_multi_add_handle(multi, easy.curl)
        guard code == CURLM_OK else {
            throw CurlError(description: unsafe String(cString: curl_multi_strerror(code)))
        }
        running[ObjectIdentifier(easy)] = easy
    }

    /// Ends a transfer, or takes one out that has ended. The handle may be used again then.
    func remove(_ easy: EasyHandle) {
        guard running.removeValue(forKey: ObjectIdentifier(easy)) != nil else { return }
        unsafe curl_multi_remove_handle(multi, easy.curl)
        easy.releaseBody()
    }

    /// Sends, receives and times out whatever can be without waiting.
    func perform() {
        var count: Int32 = 0
        // An error (out of memory) leaves the transfers as they are; each has its own timeout.
        _ = unsafe curl_multi_perform(multi, &count)
    }

    /// The next transfer that has ended since the last call, already taken out, and how.
    func nextDone() -> (EasyHandle, CURLcode)? {
        var code = CURLE_OK
        while let curl = unsafe ccurl_multi_next_done(multi, &code) {
            guard let context = unsafe ccurl_context(curl) else { continue }
            let easy = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            remove(easy)
            return (easy, code)
        }
        return nil
    }

    /// Every transfer under way.
    var transfers: [EasyHandle] { Array(running.values) }

    /// Waits until there is something to do for libcurl, somebody calls `wakeUp`, or the time is
    /// over.
    func wait(milliseconds: Int32) {
        if unsafe curl_multi_poll(multi, nil, 0, milliseconds, nil) != CURLM_OK {
            // Whatever is wrong with it: not a loop that never rests.
            _ = Glibc.poll(nil, 0, min(milliseconds, 100))
        }
    }

    /// Lets the present or the next `wait` return at once. Any thread.
    func wakeUp() {
        _ = unsafe curl_multi_wakeup(multi)
    }
}
