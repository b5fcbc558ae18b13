import Foundation
import Platform

/// Stops processes for a while.
package enum SuspendedProcess {
    /// Sends SIGSTOP and waits until each thread of the process stands still: `kill` returns earlier, and until then a
    /// thread on another processor may still answer what the test sends. SIGCONT lets the process continue.
    package static func suspend(_ process: Int32) throws {
        guard kill(process, SIGSTOP) == 0 else { throw SystemError("kill") }
        let end = SystemClock().now() + .seconds(60)
        while !hasStopped(process) {
            if SystemClock().now() > end { throw Failed(description: "the process \(process) does not stop") }
            usleep(1000)
        }
    }

    private struct Failed: Error, CustomStringConvertible {
        var description: String
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
