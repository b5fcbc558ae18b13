import Control
import Platform
import Synchronization

/// Asks the daemon for its status, again and again, on its own thread, so that keys never wait for the daemon. Any
/// thread.
final class StatusPoller: Sendable {
    private struct State {
        var screen = TopScreen()
        var hasNews = true
    }

    private let client: ControlClient
    private let interval: Duration
    private let clock = SystemClock()
    private let state = Mutex(State())

    init(socket: String, interval: Duration) {
        client = ControlClient(socket: socket)
        self.interval = interval
    }

    var screen: TopScreen { state.withLock { $0.screen } }

    /// Whether `screen` has changed since the last call.
    func takeNews() -> Bool { state.withLock { exchange(&$0.hasNews, with: false) } }

    /// Asks once.
    /// - Throws: the first answer decides whether the command runs at all.
    func askFirst() throws { take(try ask()) }

    /// Asks again and again. The thread ends with the program.
    func start() {
        _ = WorkerThread(name: "status") { [self] in
            while true {
                pause(for: interval)
                do {
                    take(try ask())
                } catch {
                    let isDown = (error as? ControlClientError)?.code == .notRunning
                    state.withLock { state in
                        state.screen.problemTitle = isDown ? "not running" : "no answer"
                        state.screen.problem = "\(error)"
                        state.hasNews = true
                    }
                }
            }
        }
    }

    private func ask() throws -> StatusReport {
        let answer = try client.get("/status")
        guard answer.isSuccess else { throw ReportedError(answer.error) }
        return try answer.decode(StatusReport.self)
    }

    private func take(_ report: StatusReport) {
        let seconds = Double(clock.now().nanoseconds) / 1e9
        state.withLock { state in
            state.screen.report = report
            state.screen.history.add(report, at: seconds)
            state.screen.problem = nil
            state.hasNews = true
        }
    }
}
