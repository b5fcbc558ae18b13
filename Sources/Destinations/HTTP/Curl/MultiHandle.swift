import CCurl
import Platform

/// libcurl's multi handle: many transfers on one thread, with shared connections.
///
/// One thread uses it; only `wakeUp` may be called from others. Unsafe parts: this object owns and frees the handle's
/// memory; and libcurl returns pointers to EasyHandles, which are valid because `running` retains every EasyHandle that
/// libcurl knows.
@safe final class MultiHandle: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer
    private var running: [ObjectIdentifier: EasyHandle] = [:]

    /// - Parameters:
    ///   - connections: the most open at once, for all hosts; further transfers wait.
    ///   - perHost: the most open at once to one host and port.
    ///   - idle: the most kept open for later use.
    init(connections: Int, perHost: Int, idle: Int) throws(CurlError) {
        guard CurlLibrary.isReady, let multi = unsafe curl_multi_init() else {
            throw CurlError(description: "libcurl could not make a multi handle: out of memory or descriptors")
        }
        unsafe self.multi = multi
        for (option, value) in [
            (CURLMOPT_MAX_TOTAL_CONNECTIONS, connections), (CURLMOPT_MAX_HOST_CONNECTIONS, perHost),
            (CURLMOPT_MAXCONNECTS, idle),
        ] where unsafe ccurl_multi_set_long(multi, option, value) != CURLM_OK {
            throw CurlError(description: "libcurl rejected a limit on connections: \(value)")
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

    /// Aborts a transfer, or removes one that has ended. The handle may be reused afterwards.
    func remove(_ easy: EasyHandle) {
        guard running.removeValue(forKey: ObjectIdentifier(easy)) != nil else { return }
        unsafe curl_multi_remove_handle(multi, easy.curl)
        easy.releaseBody()
    }

    /// Sends, receives and times out as far as possible without blocking.
    func perform() {
        var count: Int32 = 0
        // On an error (out of memory) the transfers stay as they are; each has its own timeout.
        _ = unsafe curl_multi_perform(multi, &count)
    }

    /// The next transfer that has ended, already removed, and its result.
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

    /// Every transfer in flight.
    var transfers: [EasyHandle] { Array(running.values) }

    /// Blocks until libcurl has work to do, `wakeUp` is called, or the time is over.
    func wait(milliseconds: Int32) {
        if unsafe curl_multi_poll(multi, nil, 0, milliseconds, nil) != CURLM_OK {
            // Sleep after any error, so that the loop never spins.
            pause(for: .milliseconds(min(milliseconds, 100)))
        }
    }

    /// Makes the current or next `wait` return at once. Any thread.
    func wakeUp() {
        _ = unsafe curl_multi_wakeup(multi)
    }
}
