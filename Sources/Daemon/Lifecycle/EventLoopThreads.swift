import Foundation

/// The number of threads that serve sockets.
enum EventLoopThreads {
    /// Reading and validating is a fraction of the work, and the journal has one writer, so a few threads are enough on
    /// any machine.
    static let count = min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 4)
}
