import Foundation

/// How many threads route events for HTTP destinations, unless the configuration says it.
enum RoutingThreads {
    /// One thread is kept free of slow scripts, so there are two at least.
    static let usual = min(max(ProcessInfo.processInfo.activeProcessorCount, 2), 8)
}
