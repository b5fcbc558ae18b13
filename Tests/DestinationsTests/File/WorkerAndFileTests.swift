import Delivery
import Events
import Foundation
import Platform
import Synchronization
import Telemetry
import Testing

@testable import Destinations

@Suite("A worker with a file destination")
struct WorkerAndFileTests {
    /// Events 0..<end in memory.
    private struct NumberLog: EventLog {
        var end: UInt64
        func makeReader(from position: UInt64) throws -> any EventReader { Reader(end: end, next: position) }

        final class Reader: EventReader {
            let end: UInt64
            var next: UInt64
            init(end: UInt64, next: UInt64) {
                self.end = end
                self.next = next
            }
            func read(into batch: inout EventBatch, maximumBytes: Int) throws -> Bool {
                batch.removeAll()
                guard next < end else { return false }
                for _ in 0..<7 where next < end {
                    let json = Array(line(next).utf8)
                    batch.events.append(
                        EventRecord(
                            position: next, receivedAt: 1_769_860_800_000_000_000 + Int64(next) * 11_000_000_000,
                            offset: UInt32(batch.ownBytes.count), length: UInt32(json.count), origin: 0,
                            index: EventIndex(kind: .track)))
                    batch.ownBytes += json
                    next += 1
                }
                batch.next = next
                return true
            }
        }
    }

    /// Filters every fifth event, rejects every seventh, and routes the rest.
    private final class Router: EventRouter {
        func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch)
            -> RouteVerdict
        {
            if event.position % 5 == 0 { return .filtered(reason: "no route") }
            if event.position % 7 == 0 { return .rejected(reason: "no number") }
            let start = output.payload.count
            output.payload += batch.text(of: event)
            output.events.append(
                OutboundEvent(
                    position: event.position, receivedAt: event.receivedAt, kind: .track,
                    payload: start..<output.payload.count, messageID: start..<start))
            output.payload.append(UInt8(ascii: "\n"))
            return .routed
        }
    }

    private final class Sink: DeadLetterSink {
        var positions: Set<UInt64> = []
        func append(_ letters: [DeadLetter]) throws { positions.formUnion(letters.map(\.position)) }
    }

    private final class Cursors: CursorStore {
        let state: Mutex<(taken: Cursor, durable: Cursor, wentBack: Bool)>
        init(_ cursor: Cursor) { state = Mutex((cursor, cursor, false)) }
        func cursor(of destination: String) -> Cursor { state.withLock { $0.taken } }
        func advance(_ destination: String, to cursor: Cursor) {
            state.withLock {
                $0.wentBack = $0.wentBack || cursor.position < $0.taken.position
                $0.taken = cursor
            }
        }
        func commit() throws { state.withLock { $0.durable = $0.taken } }
    }

    @Test(arguments: 1...25 as ClosedRange<Int>, [false, true])
    func `a file destination holds each event once despite disk faults`(seed: Int, syncsInBackground: Bool) throws {
        let total: UInt64 = 300
        let directory = try TemporaryDirectory()
        let ledger = try TemporaryDirectory()
        let sink = Sink()
        let clock = FakeClock()
        let telemetry = Telemetry(sink: SilentLog(), now: { 0 })
        var cursor = Cursor(position: 0)
        var starts = 0
        while cursor.position < total, starts < 400 {
            starts += 1
            let disk = FaultyDisk()
            // After the first fault nothing works: the process is as good as dead.
            disk.state.withLock { $0.endsAt = seed + starts % (11 + seed) + (starts > 100 ? 1000 : 0) }
            let cursors = Cursors(cursor)
            let destination = try FileDestination(
                name: "archive",
                options: FileDestinationOptions(
                    path: directory.path + "/%H-%M.ndjson\(seed % 2 == 0 ? ".gz" : "")",
                    compression: seed % 2 == 0 ? .gzip : .none, rotateSize: seed % 3 == 0 ? 500 : nil),
                ledger: ledger.path + "/archive", disk: disk, clock: clock, telemetry: telemetry,
                syncer: syncsInBackground ? FileSyncer(name: "archive") : nil,
                commit: {
                    cursors.advance("archive", to: $0)
                    try cursors.commit()
                })
            let worker = DeliveryWorker(
                .init(
                    name: "archive",
                    policy: DeliveryPolicy(
                        batchEvents: 1 + seed % 9, inFlight: 4, checkpointInterval: .milliseconds(seed % 4 + 1)),
                    log: NumberLog(end: total), cursors: cursors, clock: clock, telemetry: telemetry),
                router: Router(), destination: destination, deadLetters: sink, random: SystemRandomNumberGenerator(),
                wake: {})
            for _ in 0..<20 {
                _ = worker.turn(now: clock.now())
                clock.advance(.milliseconds(3))
            }
            let state = cursors.state.withLock { $0 }
            #expect(!state.wentBack)
            // kill -9 keeps every cursor that the store received. A power cut loses those that were not committed.
            cursor = starts % 2 == 0 ? state.taken : state.durable
        }
        #expect(cursor.position == total)
        #expect(starts > 1)
        let lines = try directory.files.flatMap { try directory.lines($0) }
        let wanted: [UInt64] = (0..<total).filter { $0 % 5 != 0 }
        let refused: [UInt64] = wanted.filter { $0 % 7 == 0 }
        let expected: [String] = wanted.filter { $0 % 7 != 0 }.map(line)
        #expect(lines.sorted() == expected.sorted())
        #expect(sink.positions == Set(refused))
    }
}
