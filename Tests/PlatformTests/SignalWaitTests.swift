import Glibc
import Platform
import Synchronization
import Testing

@Suite struct SignalWaitTests {
    /// Runs on its own thread and sends the signals to that thread only, so that they do not reach
    /// the other threads of the test process.
    func taken(_ numbers: [Int32], within limit: Duration) -> [SignalWait.Signal?] {
        let result = Result()
        let thread = WorkerThread(name: "signals") {
            let signals = SignalWait()
            for number in numbers {
                pthread_kill(pthread_self(), number)
                let signal = signals.next(until: SystemClock().now() + limit)
                result.signals.withLock { $0.append(signal) }
            }
        }
        thread.join()
        return result.signals.withLock { $0 }
    }

    final class Result: Sendable {
        let signals = Mutex<[SignalWait.Signal?]>([])
    }

    @Test func `each signal has its usual meaning`() {
        #expect(
            taken([SIGTERM, SIGINT, SIGHUP, SIGUSR1], within: .seconds(10)) == [.terminate, .terminate, .reload, .wake])
    }

    @Test func `a deadline ends the wait`() {
        let start = SystemClock().now()
        // Signal 0 sends nothing.
        #expect(taken([0], within: .milliseconds(20)) == [nil])
        #expect(SystemClock().now() - start >= .milliseconds(20))
    }

    @Test func `the soft limit of open files is raised to the hard limit`() throws {
        let limit = try OpenFileLimit.raise()
        #expect(limit >= 1024)
        #expect(try OpenFileLimit.raise() == limit)
    }
}
