import Glibc
import Platform
import Testing

@Suite struct StandardErrorLogTests {
    struct FixedClock: Clock {
        func now() -> Instant { Instant(nanoseconds: 0) }
        func wallClock() -> Int64 { 1_767_225_600_007_000_000 }
    }

    /// The bytes that the log writes for one line with the given JOURNAL_STREAM.
    func written(_ priority: Int, _ line: String, journalStream: (String) -> String?) throws -> String {
        let directory = try TemporaryDirectory()
        let file = try FileDescriptor.open(directory.file("log"), O_RDWR | O_CREAT)
        var status = stat()
        try #require(unsafe fstat(file.raw, &status) == 0)
        let stream = journalStream("\(status.st_dev):\(status.st_ino)")
        StandardErrorLog(descriptor: file.raw, clock: FixedClock(), journalStream: stream).write(
            line, priority: priority, name: "warning")
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe pread(file.raw, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    @Test(arguments: [(3, "<3>"), (7, "<7>")])
    func `a line for the systemd journal has a priority prefix`(priority: Int, prefix: String) throws {
        #expect(try written(priority, "disk full") { $0 } == prefix + "disk full\n")
    }

    @Test(arguments: [nil, "1:1", ""])
    func `a line has time and level when standard error is not the systemd journal`(stream: String?) throws {
        #expect(try written(4, "disk full") { _ in stream } == "2026-01-01T00:00:00.007Z warning disk full\n")
    }

    @Test func `control characters are escaped, so that a line stays one line and cannot control a terminal`() throws {
        let line = "sent\n<0>fake \u{1B}[2J\t\r\u{7F}\u{9B}\u{2028}é 💧"
        #expect(try written(6, line) { $0 } == "<6>sent\\n<0>fake \\u{1B}[2J\\t\\r\\u{7F}\\u{9B}\\u{2028}é 💧\n")
    }
}
