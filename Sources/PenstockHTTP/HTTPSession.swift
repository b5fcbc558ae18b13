import Foundation
import Penstock

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Makes the session of a provider: one that may still work while the process ends.
enum HTTPSession {
    /// Call it before the provider observes the end of the process: what the libraries behind a session do at the end
    /// of the process comes after what was registered later.
    static func make(timeout: Duration) -> URLSession {
        ProcessExit.keepOpenSSL
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = timeout / .seconds(1)
        return URLSession(configuration: configuration)
    }
}
