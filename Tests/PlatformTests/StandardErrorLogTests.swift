import Glibc
import Platform
import Telemetry
import Testing

@Suite struct StandardErrorLogTests {
    struct FixedClock: Clock {
        func now() -> Instant { Instant(nanoseconds: 0) }
        func wallClock() -> Int64 { 1_767_225_600_007_000_000 }
    }

    /// What the log writes for one line, given what JOURNAL_STREAM is.
    func written(_ level: Level, _ line: String, journalStream: (String) -> String?) throws -> String {
        let directory = try TemporaryDirectory()
        let file = try FileDescriptor.open(directory.file("log"), O_RDWR | O_CREAT)
        var status = stat()
        try #require(unsafe fstat(file.raw, &status) == 0)
        let stream = journalStream("\(status.st_dev):\(status.st_ino)")
        StandardErrorLog(descriptor: file.raw, clock: FixedClock(), journalStream: stream).write(level, line)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe pread(file.raw, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    @Test(arguments: [(Level.error, "<3>"), (.warning, "<4>"), (.notice, "<5>"), (.info, "<6>"), (.debug, "<7>")])
    func `the journal gets the priority`(level: Level, prefix: String) throws {
        #expect(try written(level, "disk full") { $0 } == prefix + "disk full\n")
    }

    @Test(arguments: [nil, "1:1", ""])
    func `a person gets time and level when standard error is not the journal's`(stream: String?) throws {
        #expect(try written(.warning, "disk full") { _ in stream } == "2026-01-01T00:00:00.007Z warning disk full\n")
    }

    @Test func `a line stays one line, and a terminal obeys none of it`() throws {
        let line = "sent\n<0>fake \u{1B}[2J\t\r\u{7F}\u{9B}\u{2028}é 💧"
        #expect(try written(.info, line) { $0 } == "<6>sent\\n<0>fake \\u{1B}[2J\\t\\r\\u{7F}\\u{9B}\\u{2028}é 💧\n")
    }
}
