import Foundation

/// How many threads serve sockets.
enum EventLoopThreads {
    /// Reading and checking is a fraction of the work, and the journal has one writer: a few are
    /// enough for it on any machine.
    static let count = min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 4)
}
