import Delivery
import Destinations
import Foundation
import PluginTesting
import Synchronization

/// Delivers events one batch after the other, as a worker of the daemon does: it offers a batch again until it is
/// delivered, and opens a destination again that has failed. It never saves a cursor, so each opening must begin at the
/// position that the plugin reports.
final class PostgresLoad: Sendable {
    private struct State {
        var delivered: UInt64 = 0
        var interruptions = 0
        var problem = ""
        var isEnding = false
        var hasEnded = false
    }

    private let state = Mutex(State())
    /// The name of the plugin's process, which no other test has.
    private let program = "host-\(UInt32.random(in: 0...UInt32.max))"

    init(_ test: PostgresTest) throws {
        try test.directory.add(
            program, Data(contentsOf: URL(fileURLWithPath: TestCompiler.built("penstock-plugin-host"))))
        let thread = Thread { self.run(test) }
        thread.start()
    }

    var delivered: UInt64 { state.withLock { $0.delivered } }
    var interruptions: Int { state.withLock { $0.interruptions } }
    var problem: String { state.withLock { $0.problem } }

    func end() {
        state.withLock { $0.isEnding = true }
        _ = pluginEventually { state.withLock { $0.hasEnded } }
    }

    private func run(_ test: PostgresTest) {
        defer { state.withLock { $0.hasEnded = true } }
        let stage = try? PluginStage("postgres", in: test.directory, settings: test.settings()) {
            $0.hostProgram = "\(test.directory.path)/\(program)"
        }
        guard let stage else { return }
        var isOpen = false
        while state.withLock({ !$0.isEnding }) {
            do {
                if let end = stage.destination.failure {
                    note(end)
                    stage.destination.close()
                    isOpen = false
                }
                if !isOpen {
                    // All events since the start are offered again; the host skips those that the plugin has.
                    _ = try stage.destination.open(from: Cursor(position: 0))
                    isOpen = true
                }
            } catch {
                note("\(error)")
                usleep(10_000)
                continue
            }
            // Some events before the next one: they may have been delivered, or not, when something was killed.
            let next = delivered
            let positions = Array((next < 20 ? 0 : next - 20)..<next + UInt64.random(in: 1...100))
            let offer = stage.offer(positions)
            let outcomes = stage.outcomes(offer, count: positions.count)
            if outcomes?.allSatisfy({ $0 == .delivered }) == true {
                state.withLock { $0.delivered = positions[positions.count - 1] + 1 }
            } else {
                note("\(outcomes.map { "\($0[0])" } ?? "not settled")")
                usleep(1000)
            }
        }
        stage.destination.close()
    }

    private func note(_ problem: String) {
        state.withLock { state in
            state.interruptions += 1
            state.problem = problem
        }
    }

    /// - Returns: whether a plugin's process of this test was killed.
    func killPlugin() -> Bool {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { pid_t($0) } ?? []
        let found = processes.first { process in
            let name = try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8)
            return name?.trimmingCharacters(in: .newlines) == String(program.prefix(15))
        }
        return found.map { kill($0, SIGKILL) == 0 } ?? false
    }
}
