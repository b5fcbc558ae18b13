import Control
import Foundation
import Platform
import Testing

/// What taps cost while 50,000 events pass each second.
@Suite(.serialized) struct TapLoadTests {
    private static let rate = 50_000
    private static let seconds = 3

    /// A tap over the control socket. Its client reads nothing before `read`.
    private final class Watcher: Sendable {
        private struct State {
            var records = 0
            var missed: UInt64 = 0
            var bytes = 0
        }
        private let state = Guarded(State())
        private let gate = Doorbell()
        private let isOpen = Guarded(false)
        private let done = Guarded(false)

        init(_ daemon: TestDaemon, _ order: TapOrder, reads: Bool) throws {
            let before = try daemon.taps
            isOpen.change { $0 = reads }
            let client = ControlClient(socket: daemon.control)
            _ = WorkerThread(name: "watcher") { [self] in
                _ = try? client.lines(TapOrder.path, query: order.query) { line in
                    if !self.isOpen.value { self.gate.wait() }
                    return self.take(line)
                }
                self.done.change { $0 = true }
            }
            try eventually("the tap runs") { try daemon.taps > before }
        }

        private func take(_ line: [UInt8]) -> Bool {
            let notice = TapNotice(line)
            state.change { state in
                state.bytes += line.count
                if notice == nil { state.records += 1 }
                state.missed = notice?.missed ?? state.missed
            }
            return true
        }

        func read() {
            isOpen.change { $0 = true }
            gate.ring()
        }

        var shown: Int { state.value.records }
        /// The events that were shown, and those that the daemon has reported as not shown.
        var known: UInt64 { UInt64(state.value.records) + state.value.missed }
    }

    /// Sends events at the rate.
    /// - Returns: the processor time of the daemon, in seconds.
    private func load(_ daemon: TestDaemon, first: Int) throws -> Double {
        let client = try EventClient(daemon, acknowledgements: false)
        let clock = SystemClock()
        let began = clock.now()
        let before = try daemon.processorTime
        let fields = #","properties":{"path":"/checkout/payment","title":"Payment","total":12.5,"items":[1,2,3]}"#
        for slot in 0..<Self.seconds * 50 {
            let start = first + slot * Self.rate / 50
            try client.send((start..<start + Self.rate / 50).map { event($0, fields: fields) + "\n" }.joined())
            let next = began + .milliseconds(20 * (slot + 1))
            while clock.now() < next { usleep(500) }
        }
        try daemon.settle(accepted: UInt64(first + Self.seconds * Self.rate))
        return try daemon.processorTime - before
    }

    @Test func `no event is delayed or lost, and what a tap does not show is counted`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive] } ]
                destinations: { archive: { file: archive.ndjson } }
                """)
        try daemon.start()
        let total = Self.seconds * Self.rate
        let alone = try load(daemon, first: 0)

        // One is read, one is never read, one finds nothing, and one watches the destination.
        let reads = try Watcher(daemon, TapOrder(stages: [.accepted]), reads: true)
        let accepted = try load(daemon, first: total)
        let idle = try Watcher(daemon, TapOrder(stages: [.accepted, .sent]), reads: false)
        let routed = try Watcher(daemon, TapOrder(stages: [.routed], destination: "archive"), reads: true)
        let rare = try Watcher(
            daemon, TapOrder(stages: [.accepted], condition: #"messageId = "m-0400001""#), reads: true)
        let all = try load(daemon, first: 2 * total)

        try eventually("the first tap knows of every event") { reads.known == UInt64(2 * total) }
        #expect(reads.shown > 1000 && reads.shown < 2 * total, "a sample: \(reads.shown)")
        try eventually("the tap of the destination knows of every event") { routed.known == UInt64(total) }
        #expect(rare.shown <= 1 && rare.known >= UInt64(rare.shown))
        // The client that has read nothing so far gets what was kept for it, and the number of all others.
        idle.read()
        try eventually("it knows of every event at both stages") { idle.known == UInt64(2 * total) }
        #expect(idle.shown < total / 10, "little was kept for it: \(idle.shown)")

        #expect(daemon.lines("archive.ndjson").count == 3 * total)
        print("processor time for \(total) events: \(alone) s alone, \(accepted) s with a tap, \(all) s with four")
        #expect(daemon.terminate() == 0)
    }
}
