import Events
import Foundation
import Journal
import Platform
import Testing

/// The description of the format is enough to read a journal: a Python program was written from it alone.
@Suite struct OtherLanguageTests {
    private static let python = "/usr/bin/python3"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: python), "python3 is not installed"))
    func `a reader in Python finds every event`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        try journal.declare(destinations: [("a destination", 0)])
        var expected: [String] = []
        for number in 0..<100 {
            rig.clock.advance(.milliseconds(number))
            let text = event(number, size: 900 + number)
            try append(journal, [text])
            expected.append("\(number) \(rig.clock.wallClock()) app \(text)")
        }
        journal.stop()
        #expect(rig.segmentNames.count == 2)
        // The Python reader skips damage as the journal does.
        try rig.overwrite(rig.path(rig.segmentNames[0]), [0x21], at: 200)
        expected.removeFirst()

        let text = try run([rig.directory])
        #expect(text.split(separator: "\n").map(String.init) == expected)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: python), "python3 is not installed"))
    func `a reader in Python finds the same cursors`() throws {
        let rig = try Rig()
        try GoldenJournalTests.copy("version-1-live", to: rig)
        #expect(try run(["--cursors", rig.directory]) == "archive 3\nservice 9\n")
        try rig.disk.remove(rig.path("cursors.live"))
        #expect(try run(["--cursors", rig.directory]) == "archive 3\nservice 4 5-6\n")
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: python), "python3 is not installed"))
    func `a reader in Python finds the same lanes`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        for number in 0..<200 {
            let lane = LanePosition(lane: "partition/\(number % 3)", position: Array("\(number)".utf8))
            try append(journal, [event(number, size: 500)], lane: lane)
        }
        try append(journal, [], lane: LanePosition(lane: "partition/0", position: [0, 255]))
        try append(journal, [event(200)], lane: LanePosition(lane: "partition/1", position: []))
        journal.stop()
        #expect(rig.segmentNames.count == 2)
        #expect(try run(["--lanes", rig.directory]) == "app partition/0 00ff\napp partition/2 313937\n")
        #expect(try run([rig.directory]).split(separator: "\n").count == 201)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: python), "python3 is not installed"))
    func `a reader in Python finds the first host of each event, and when it received it`() throws {
        let rig = try Rig()
        let journal = try rig.open()
        for (number, host) in ["edge-1", "", "edge-2", "ü"].enumerated() {
            let mark = OriginMark(origin: OriginID(high: 1, low: 2), place: OriginPlace(position: 3, part: 0))
            // The last event was received two minutes after the first one.
            let times = host == "edge-2" ? [] : [1_500_000_000, 121_500_000_000].map { Int64($0) }
            try append(
                journal, [event(2 * number), event(2 * number + 1)],
                lane: LanePosition(
                    lane: "a", position: [UInt8(number)], mark: number == 1 ? nil : mark,
                    receipt: EarlierReceipt(host: host, times: times)))
        }
        journal.stop()
        let lines = try run(["--json", rig.directory]).split(separator: "\n")
        let found = try lines.map { line in
            let fields = try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            return "\(fields["host"] as? String ?? "-") \(fields["first_received_at"] as? String ?? "-")"
        }
        let times = ["1970-01-01T00:00:01.500Z", "1970-01-01T00:02:01.500Z"]
        #expect(
            found == times.map { "edge-1 \($0)" } + times.map { "- \($0)" } + ["edge-2 -", "edge-2 -"]
                + times.map { "ü \($0)" })
    }

    private func run(_ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: Self.python)
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "read_journal.py")
        process.arguments = [script.path()] + arguments
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return text
    }
}
