import Glibc
import Platform
import Synchronization
import Testing

@Suite struct JournaldLogTests {
    /// A journald that takes entries only while it is not stopped.
    private final class Journald: Sendable {
        let entries = Mutex<[String]>([])
        let failures = Mutex<[String]>([])
        let isStopped: Atomic<Bool>
        let result: Int32

        init(isStopped: Bool = false, result: Int32 = 0) {
            self.isStopped = Atomic(isStopped)
            self.result = result
        }

        func log() throws -> JournaldLog {
            try JournaldLog(
                send: { [self] fields in
                    while isStopped.load(ordering: .relaxed) { pause(for: .milliseconds(2)) }
                    if result == 0 { entries.withLock { $0.append(text(fields)) } }
                    return result
                },
                lost: { [JournaldLog.Field("MESSAGE", "\($0) lost")] },
                fallback: { [self] fields in failures.withLock { $0.append(text(fields)) } })
        }

        private func text(_ fields: [JournaldLog.Field]) -> String {
            fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
        }
    }

    private func entry(_ message: String) -> [JournaldLog.Field] { [JournaldLog.Field("MESSAGE", message)] }

    @Test func `entries arrive in order, and the end of the program waits for them`() throws {
        let journald = Journald()
        let log = try journald.log()
        for number in 0..<500 { log.write(entry("\(number)")) }
        log.finish(within: .seconds(60))
        #expect(journald.entries.withLock { $0 } == (0..<500).map { "MESSAGE=\($0)" })
    }

    @Test func `a journald that hangs delays no writer, its queue is bounded, and the rest is counted`() throws {
        let journald = Journald(isStopped: true)
        let log = try journald.log()
        log.write(entry("first"))
        let count = JournaldLog.entryLimit + 100
        for number in 0..<count { log.write(entry("\(number)")) }
        // It returns although journald hangs.
        log.finish(within: .milliseconds(20))
        journald.isStopped.store(false, ordering: .relaxed)
        log.finish(within: .seconds(60))
        let entries = journald.entries.withLock { $0 }
        let lost = entries.compactMap { $0.hasSuffix(" lost") ? Int($0.dropFirst(8).dropLast(5)) : nil }
        // On a busy machine, journald may read a few entries before the last ones are written.
        #expect(lost.count >= 1 && entries.last?.hasSuffix(" lost") == true, "\(entries.suffix(3))")
        #expect(entries.count - lost.count + lost.reduce(0, +) == count + 1)
    }

    @Test func `the bytes that wait are bounded, and a long value is cut`() throws {
        let journald = Journald(isStopped: true)
        let log = try journald.log()
        let long = String(repeating: "é", count: JournaldLog.valueLimit)
        for _ in 0..<1000 { log.write(entry(long)) }
        journald.isStopped.store(false, ordering: .relaxed)
        log.finish(within: .seconds(60))
        let entries = journald.entries.withLock { $0 }
        #expect(entries.count < 300 && entries.last?.hasSuffix(" lost") == true)
        #expect(entries.first?.utf8.count == "MESSAGE=".utf8.count + JournaldLog.valueLimit + "…".utf8.count)
    }

    @Test func `an entry that cannot be sent reaches the fallback`() throws {
        let journald = Journald(result: -ECONNREFUSED)
        let log = try journald.log()
        log.write(entry("important"))
        log.finish(within: .seconds(60))
        #expect(journald.failures.withLock { $0 } == ["MESSAGE=important"])
    }
}
