import Foundation
import Glibc
import Penstock
import PenstockTesting

/// Records one event with the daemon whose socket and spool are the program's arguments, and ends.
func recordOneEvent() -> Never {
    var options = DaemonProvider.Options(environment: [:])
    options.socket = CommandLine.arguments[2]
    options.spool = CommandLine.arguments[3]
    Analytics(providers: [DaemonProvider(options)], userID: "u_4711").track("Process Ended")
    exit(0)
}

/// Runs many processes, a few at a time, and checks that the event of each arrives.
func runProcesses(_ count: Int) async throws {
    let daemon = try LocalDaemon()
    let program = CommandLine.arguments[0]
    let lanes = ProcessInfo.processInfo.activeProcessorCount * 2
    let begin = ContinuousClock.now
    try await withThrowingTaskGroup { group in
        for lane in 0..<lanes {
            group.addTask {
                for _ in stride(from: lane, to: count, by: lanes) {
                    try await run(program, ["process", daemon.socket, daemon.path("spool")])
                }
            }
        }
        try await group.waitForAll()
    }
    let time = ContinuousClock.now - begin
    let next = DaemonProvider(daemon.providerOptions)
    while next.statistics.spooledBytes > 0 || !next.statistics.isConnected { usleep(1000) }
    let events = try daemon.events(waitingFor: count)
    let different = Set(events.map(\.messageID)).count
    print(
        "\(count) processes with one event each and no flush: \(different) events, \(events.count - different) of them",
        "twice, \(text(Double(count) / (time / .seconds(1)), digits: 0)) processes/s")
    guard different == count else { fail("LOST EVENTS") }
}

private func run(_ program: String, _ arguments: [String]) async throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    try await withCheckedThrowingContinuation { (caller: CheckedContinuation<Void, any Error>) in
        process.terminationHandler = { _ in caller.resume() }
        do { try process.run() } catch { caller.resume(throwing: error) }
    }
    guard process.terminationStatus == 0 else { fail("a process ended with \(process.terminationStatus)") }
}
