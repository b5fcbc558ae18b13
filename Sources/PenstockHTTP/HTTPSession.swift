import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
#if canImport(Glibc)
    import Glibc
#endif

/// Makes the session of a provider: one that may still work while the process ends.
enum HTTPSession {
    /// Call it before the provider observes the end of the process: what the libraries behind a session do at the end
    /// of the process comes after what was registered later.
    static func make(timeout: Duration) -> URLSession {
        keepOpenSSL
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = timeout / .seconds(1)
        return URLSession(configuration: configuration)
    }

    /// OpenSSL, which Foundation reaches through libcurl on Linux, frees its memory in a handler of atexit(3), although
    /// other threads may still send requests: a process that ended soon after its first event crashed. The option that
    /// prevents it is documented in OPENSSL_init_crypto(3). Without OpenSSL in the process, this does nothing.
    private static let keepOpenSSL: Void = {
        #if canImport(Glibc)
            typealias Initialize = @convention(c) (UInt64, OpaquePointer?) -> Int32
            let withoutExitHandler: UInt64 = 0x80000
            guard let address = unsafe dlsym(nil, "OPENSSL_init_crypto") else { return }
            _ = unsafe unsafeBitCast(address, to: Initialize.self)(withoutExitHandler, nil)
        #endif
    }()
}
