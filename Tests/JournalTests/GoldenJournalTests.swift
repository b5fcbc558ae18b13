import Events
import Foundation
import Journal
import Platform
import Testing

/// Journals that earlier versions wrote, byte for byte. The files in `Golden/version-N` never change, and
/// every later version reads them.
@Suite struct GoldenJournalTests {
    private static let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden").path()

    /// Copies a journal so that a test can open it.
    static func copy(_ name: String, to rig: Rig) throws {
        for file in try rig.disk.list("\(directory)/\(name)") {
            try FileManager.default.copyItem(atPath: "\(directory)/\(name)/\(file)", toPath: rig.path(file))
        }
    }

    /// 200 events in 100 batches. Two sources alternate.
    private var expected: [String] { (0..<200).map { event($0, size: 400 + $0 % 2) } }

    @Test(arguments: [1]) func `an inspection finds a golden journal whole`(version: Int) throws {
        let inspector = try JournalInspector(directory: "\(Self.directory)/version-\(version)", disk: SystemDisk())
        let found = try inspector.inspect()
        #expect(found.verdict == .whole && found.notes.isEmpty && found.gaps.isEmpty, "\(found.problems)")
        #expect(found.uuid == "8a91cc2b-de55-408f-b259-f433469de817")
        #expect(found.segments.map(\.state) == [.sealed, .current])
        #expect(found.segments.map(\.first) == [0, 136])
        #expect(found.events == 200 && found.batches == 100 && found.next == 200 && found.durableEnd == 200)
        #expect(found.cursors.map(\.destination) == ["archive", "web shop"])
        #expect(found.cursors.map(\.position) == [200, 150])
        #expect(found.cursors.map(\.stateBytes) == [0, 3])
        #expect(found.deadLetters.map(\.letters) == [1])

        var events: [DumpedEvent] = []
        try inspector.forEachEvent(in: DumpRange(), onGap: { Issue.record("\($0) is missing") }) { event in
            events.append(event)
            return true
        }
        #expect(events.map(\.position) == Array(0..<200))
        #expect(events.map { String(decoding: $0.json, as: UTF8.self) } == expected)
        #expect(events[3].origin.source == "web" && events[3].origin.pid == 1)
        #expect(events[4].origin.source == "apps" && events[4].origin.uid == 1000 && events[4].origin.gid == 1001)
        // The writer's clock advanced by one more millisecond at each batch.
        var time: Int64 = 1_700_000_000_000_000_000
        for batch in 0..<100 {
            time += Int64(batch) * 1_000_000
            #expect(events[2 * batch].receivedAt == time && events[2 * batch + 1].receivedAt == time)
        }

        var letters: [StoredDeadLetter] = []
        try inspector.forEachDeadLetter(of: "web shop", in: DumpRange()) { letter in
            letters.append(letter)
            return true
        }
        #expect(
            letters == [
                StoredDeadLetter(
                    position: 7, time: 1_700_000_001_000_000_000, attempts: 3, messageID: "m-7", reason: "HTTP 400",
                    answer: "no such \"colour\"", event: Array(event(7).utf8))
            ])
    }

    @Test(arguments: [1]) func `a golden journal can be continued`(version: Int) throws {
        let rig = try Rig()
        try Self.copy("version-\(version)", to: rig)
        let journal = try rig.open()
        defer { journal.stop() }
        #expect(journal.cursor(of: "web shop") == JournalCursor(position: 150, state: [1, 2, 3]))
        #expect(try readAll(journal).map(\.json) == expected)
        try append(journal, [event(200)])
        #expect(try readAll(journal, from: 200).map(\.position) == [200])
        #expect(journal.statistics().gapCount == 0)
    }

    /// The journal has eleven events. The cursor of `service` is 4 in the batch of cursors after the events,
    /// and 9 in `cursors.live`. `archive` has a state.
    @Test(arguments: [true, false]) func `a golden journal with live cursors can be continued`(hasFile: Bool) throws {
        let rig = try Rig()
        try Self.copy("version-1-live", to: rig)
        if !hasFile { try rig.disk.remove(rig.path("cursors.live")) }
        let journal = try rig.open()
        defer { journal.stop() }
        #expect(journal.cursor(of: "service") == JournalCursor(position: hasFile ? 9 : 4))
        #expect(journal.live(of: "service", .delivery, tag: 0)?.settled == (hasFile ? [] : [5..<6]))
        #expect(journal.cursor(of: "archive") == JournalCursor(position: 3, state: [1]))
        #expect(try readAll(journal).map(\.position) == Array(0..<11))
    }
}
