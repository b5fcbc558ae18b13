import Foundation
import PenstockTesting
import Testing

@testable import Penstock

@Suite final class SpoolTests {
    private let directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
    private let nobody = "/tmp/penstock-nobody.sock"

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private func spool(maximumBytes: Int = 1 << 20, segmentBytes: Int = 100) throws -> Spool {
        let spool = try #require(Spool(directory: directory, maximumBytes: maximumBytes, segmentBytes: segmentBytes))
        try spool.adopt()
        return spool
    }

    private func lines(_ numbers: ClosedRange<Int>) -> [UInt8] { numbers.flatMap { Array("line \($0)\n".utf8) } }

    /// All unsent events, as text.
    private func rest(_ spool: Spool) -> String {
        var text = ""
        while let block = try? spool.next(64 << 10) { text += String(decoding: block.bytes, as: UTF8.self) }
        return text
    }

    private func files(_ suffix: String) -> [String] {
        (FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []).filter {
            $0.hasSuffix(suffix)
        }.sorted()
    }

    @Test func `the next process first sends the events that an earlier one left`() throws {
        let first = try spool()
        for number in 1...50 { #expect(first.append(lines(number...number), wasSent: false) == .done) }
        #expect(files(".ndjson").count > 3)
        first.close()
        let second = try spool()
        #expect(second.append(lines(51...51), wasSent: false) == .done)
        #expect(rest(second) == String(decoding: lines(1...51), as: UTF8.self))
        second.acknowledge(bytes: lines(1...51).count)
        #expect(second.bytes == 0)
        second.close()
        #expect(files(".store") == [] && files(".ndjson") == [], "no file is left")
    }

    @Test func `the next process does not send acknowledged events`() throws {
        let first = try spool()
        for number in 1...50 { #expect(first.append(lines(number...number), wasSent: false) == .done) }
        _ = rest(first)
        first.acknowledge(bytes: lines(1...20).count)
        first.acknowledge(lines: 3)
        first.rewind()
        first.close()
        #expect(rest(try spool()) == String(decoding: lines(24...50), as: UTF8.self))
    }

    @Test(arguments: [0, 1, 5])
    func `a torn line is cut off`(bytes: Int) throws {
        let first = try spool(segmentBytes: 1 << 20)
        #expect(first.append(lines(1...3), wasSent: false) == .done)
        first.close()
        let file = directory + "/" + (try #require(files(".ndjson").first))
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("line 4".utf8.prefix(bytes)))
        try handle.close()
        let second = try spool()
        #expect(rest(second) == "line 1\nline 2\nline 3\n")
        #expect(second.bytes == lines(1...3).count)
    }

    @Test(arguments: ["", "garbage", "1 3", "1 999999", "7 7", "1 -5", "99999999999999999999 1"])
    func `an invalid position costs repetitions but no events`(position: String) throws {
        let first = try spool(segmentBytes: 1 << 20)
        #expect(first.append(lines(1...3), wasSent: false) == .done)
        first.close()
        let store = directory + "/" + (try #require(files(".store").first))
        try Data(position.utf8).write(to: URL(fileURLWithPath: store + "/acknowledged"))
        #expect(rest(try spool()) == "line 1\nline 2\nline 3\n")
    }

    @Test func `two live processes do not touch each other's events`() throws {
        let first = try spool()
        #expect(first.append(lines(1...3), wasSent: false) == .done)
        let second = try spool()
        #expect(second.append(lines(4...6), wasSent: false) == .done)
        #expect(second.bytes == lines(4...6).count, "only the process's own events")
        let third = try spool()
        #expect(third.bytes == 0)
        first.close()
        second.close()
        #expect(rest(try spool()) == String(decoding: lines(1...6), as: UTF8.self), "older events first")
    }

    @Test func `a line that is longer than one read is read whole`() throws {
        let long = Array(String(repeating: "x", count: 200_000).utf8) + [10]
        let first = try spool(segmentBytes: 1 << 20)
        #expect(first.append(long + lines(1...1), wasSent: false) == .done)
        let text = rest(first)
        #expect(text.utf8.count == long.count + 7)
        #expect(text.hasSuffix("x\nline 1\n"))
    }

    @Test func `the size limit includes the events that other processes left`() throws {
        let first = try spool(maximumBytes: 30)
        #expect(first.append(lines(1...3), wasSent: false) == .done)
        first.close()
        let second = try spool(maximumBytes: 30)
        #expect(second.append(lines(4...5), wasSent: false) == .full)
        #expect(second.append(lines(4...4), wasSent: false) == .done)
        second.acknowledge(bytes: lines(1...3).count)
        #expect(second.append(lines(5...6), wasSent: false) == .done)
    }

    @Test func `a spool that ends later is adopted later and sent first`() throws {
        let first = try spool()
        #expect(first.append(lines(1...3), wasSent: false) == .done)
        let second = try spool()
        #expect(second.append(lines(4...6), wasSent: false) == .done)
        first.close()
        try second.adopt()
        #expect(rest(second) == String(decoding: lines(1...6), as: UTF8.self))
    }

    /// The path of its lock is longer than the system allows, so that it cannot be opened.
    @Test func `a store that cannot be locked leaves no directory behind`() throws {
        var parent = directory
        while parent.utf8.count < 3800 { parent += "/" + String(repeating: "d", count: 200) }
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        let path = parent + "/" + String(repeating: "s", count: 4093 - 1 - parent.utf8.count)
        #expect(try SpoolStore(path, segmentBytes: 100) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: parent) == [])
    }

    @Test func `while another process adopts stores, a look ends at once, and the next one finds them`() throws {
        let first = try spool()
        #expect(first.append(lines(1...3), wasSent: false) == .done)
        first.close()
        let second = try #require(Spool(directory: directory, maximumBytes: 1 << 20, segmentBytes: 100))
        let other = Process()
        other.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        other.arguments = [
            "python3", "-c",
            "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(1, flush=True); input()",
            directory + "/lock",
        ]
        let (input, output) = (Pipe(), Pipe())
        (other.standardInput, other.standardOutput) = (input, output)
        try other.run()
        #expect(try output.fileHandleForReading.read(upToCount: 1) == Data("1".utf8))
        #expect(try !second.adopt() && second.bytes == 0)
        try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
        other.waitUntilExit()
        #expect(try second.adopt())
        #expect(rest(second) == "line 1\nline 2\nline 3\n")
    }

    @Test func `purging deletes what ended processes left, and nothing of running ones`() throws {
        let ended = try spool()
        #expect(ended.append(lines(1...3), wasSent: false) == .done)
        ended.close()
        let purging = try #require(Spool(directory: directory, maximumBytes: 1 << 20, segmentBytes: 100))
        #expect(purging.append(lines(4...6), wasSent: false) == .done)
        try purging.adopt(purging: true)
        #expect(rest(purging) == "line 4\nline 5\nline 6\n")
        #expect(files(".ndjson").count == 1)
        purging.purge()
        #expect(files(".ndjson") == [])
    }

    // MARK: With a provider

    @Test func `events beyond the limits are dropped, counted and reported, and all others arrive`() async throws {
        let daemon = try LocalDaemon(isStarted: false)
        var options = DaemonProvider.Options.test(socket: daemon.socket, spool: directory)
        options.spoolBytes = 500_000
        options.queueEvents = 500
        let provider = DaemonProvider(options)
        let reports = Reports()
        provider.attach(to: reports.handler)
        var recorded = 0
        try await eventually("the spool and the memory are full") {
            for _ in 0..<100 {
                provider.record(.numbered(recorded, padding: 200))
                recorded += 1
            }
            let now = provider.statistics
            return now.dropped > 1000 && now.inMemory == 500 && now.spooledBytes > 400_000
        }
        #expect(provider.statistics.spooledBytes <= 500_000)
        try await eventually("all drops are reported") {
            reports.of(.eventsDropped).map(\.events).reduce(0, +) == provider.statistics.dropped
        }
        #expect(reports.of(.eventsDropped).allSatisfy { $0.event == "N" && $0.message.contains("\"N\" was dropped") })
        try daemon.start()
        #expect(await provider.flush() == .complete)
        let kept = recorded - provider.statistics.dropped
        let events = try daemon.events(waitingFor: kept).compactMap(\.number)
        #expect(events.count == kept)
        #expect(events == events.sorted())
        #expect(provider.statistics.accepted == kept)
    }

    @Test func `a spool outlives its provider and keeps the order`() async throws {
        let daemon = try LocalDaemon(isStarted: false)
        for life in 0..<3 {
            let provider = DaemonProvider(.test(socket: daemon.socket, spool: directory))
            for number in life * 100..<life * 100 + 100 { provider.record(.numbered(number)) }
            #expect(await provider.flush() == .complete)
        }
        try daemon.start()
        let provider = DaemonProvider(.test(socket: daemon.socket, spool: directory))
        provider.record(.numbered(300))
        // A closing provider may have sent events and ended before the daemon acknowledged them. These arrive twice.
        var firsts: [Int] = []
        try await eventually("all events have arrived") {
            var seen = Set<Int>()
            firsts = try daemon.events().compactMap(\.number).filter { seen.insert($0).inserted }
            return firsts.count == 301
        }
        // The runs may have overlapped for a moment, so the order holds within each run.
        for life in 0..<3 { #expect(firsts.filter { $0 / 100 == life } == Array(life * 100..<life * 100 + 100)) }
    }

    @Test func `an impossible spool directory is reported, and events stay in memory`() async throws {
        try Data().write(to: URL(fileURLWithPath: directory))
        let provider = DaemonProvider(.test(socket: nobody, spool: directory + "/below"))
        let reports = Reports()
        provider.attach(to: reports.handler)
        provider.record(.numbered(1))
        try await eventually("it is reported") { reports.of(.spoolFailed).contains { $0.message.contains("below") } }
        #expect(await provider.flush(until: .now + .milliseconds(20)) == .pending(events: 1))
    }

    @Test func `a spool ignores a file with the largest number`() throws {
        let first = try spool()
        #expect(first.append(lines(1...3), wasSent: false) == .done)
        first.close()
        let store = try #require(files(".store").first)
        for name in ["\(Int.max).ndjson", "\(Int.min).ndjson", "0.ndjson", "-1.ndjson"] {
            try "x\n".write(toFile: "\(directory)/\(store)/\(name)", atomically: false, encoding: .utf8)
        }
        try "\(Int.max) \(Int.min)\n".write(
            toFile: "\(directory)/\(store)/acknowledged", atomically: false, encoding: .utf8)
        let second = try spool()
        #expect(second.append(lines(4...4), wasSent: false) == .done)
        #expect(rest(second) == String(decoding: lines(1...4), as: UTF8.self))
    }
}
