import Foundation
import Platform

/// Stops processes for a while.
package enum SuspendedProcess {
    /// Sends SIGSTOP and waits until each thread of the process stands still: `kill` returns earlier, and until then a
    /// thread on another processor may still answer what the test sends. SIGCONT lets the process continue.
    /// - Returns: false: its threads did not stop within a minute, or there is no such process.
    @discardableResult
    package static func suspend(_ process: Int32) -> Bool {
        guard kill(process, SIGSTOP) == 0 else { return false }
        let end = SystemClock().now() + .seconds(60)
        while SystemClock().now() < end {
            if hasStopped(process) { return true }
            usleep(1000)
        }
        return false
    }

    /// Whether each thread's state is T, "stopped by a signal" (proc_pid_status(5)).
    private static func hasStopped(_ process: Int32) -> Bool {
        let threads = "/proc/\(process)/task"
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: threads) else { return false }
        return names.allSatisfy { name in
            (try? String(contentsOfFile: "\(threads)/\(name)/status", encoding: .utf8))?.contains("State:\tT") ?? false
        }
    }
}
