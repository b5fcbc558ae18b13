import Foundation

/// The default number of threads that route events for HTTP destinations (`routing.threads`).
enum RoutingThreads {
    /// At least two, because one thread is kept free of slow scripts.
    static let usual = min(max(ProcessInfo.processInfo.activeProcessorCount, 2), 8)
}
