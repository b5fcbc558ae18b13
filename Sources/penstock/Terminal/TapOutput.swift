import Control
import Foundation
import Platform
import Synchronization

/// Writes the lines of a tap to stdout, and reports on stderr what is missing. Any thread.
final class TapOutput: Sendable {
    private struct State {
        var missed: UInt64 = 0
        var ended: String?
        /// Why stdout takes no more lines.
        var failure: SystemError?
    }

    /// How often stdout and the signals are looked at.
    private static let period = Duration.milliseconds(200)
    /// How long a signal waits for a line that is being written.
    private static let patience = Duration.seconds(1)

    private let state = Mutex(State())
    private let signals = SignalWait()
    private let isTerminal = StandardStream.output.isTerminal

    /// Ends the program, quietly and between two lines, when a signal asks for it or when nobody reads stdout any more.
    func watchForEnd() {
        // It ends with the program.
        _ = WorkerThread(name: "signals") { [self] in
            let clock = SystemClock()
            while true {
                switch signals.next(until: clock.now() + Self.period) {
                case .terminate, .reload: leave()
                case .wake, nil: if StandardStream.output.isClosedByReader { leave() }
                }
            }
        }
    }

    private func leave() -> Never {
        let clock = SystemClock()
        let deadline = clock.now() + Self.patience
        while clock.now() < deadline {
            state.withLockIfAvailable { state in
                Self.report(state.missed)
                exit(0)
            }
            pause(for: .milliseconds(5))
        }
        // stdout is read by nobody, and a write waits for ever.
        _exit(0)
    }

    /// - Returns: whether to continue.
    func take(_ line: [UInt8]) -> Bool {
        state.withLock { state in
            if let notice = TapNotice(line) {
                state.missed = notice.missed ?? state.missed
                state.ended = notice.ended ?? state.ended
                return true
            }
            do throws(SystemError) {
                let shown = isTerminal ? TerminalJSON.escaped(line) : line
                try StandardStream.output.write(shown + [UInt8(ascii: "\n")])
                return true
            } catch {
                state.failure = error
                return false
            }
        }
    }

    /// Reports what was missed. Call once, after the last line.
    /// - Throws: a failure of stdout, unless its reader has closed the pipe (`| head`).
    func finish() throws {
        let state = state.withLock { $0 }
        Self.report(state.missed)
        if let failure = state.failure, !failure.isClosedByReader {
            throw ReportedError("cannot write the events: \(failure)")
        }
    }

    /// Why the daemon has ended the tap; nil: it has not.
    var ended: String? { state.withLock { $0.failure == nil ? $0.ended : nil } }

    private static func report(_ missed: UInt64) {
        guard missed > 0 else { return }
        printError("\(Readable.counted(missed, "event")) passed and \(missed == 1 ? "is" : "are") not shown")
    }
}
