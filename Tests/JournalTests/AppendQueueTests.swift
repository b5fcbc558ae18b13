import Events
import Platform
import Testing

@testable import Journal

/// When the writer is woken.
@Suite struct AppendQueueTests {
    private let bell = Doorbell()
    private let queue: AppendQueue

    init() {
        queue = AppendQueue(
            options: JournalOptions(), clock: SystemClock(), next: 1, lanes: [:], room: 1 << 20, bell: bell)
    }

    private var hasRung: Bool { bell.wait(until: SystemClock().now()) }

    private func append(announces: Bool) {
        let json = Array(#"{"type":"track","event":"E","userId":"u"}"#.utf8)
        let events = [ScannedEvent(offset: 0, length: UInt32(json.count), index: EventIndex(kind: .track))]
        let origin = Origin(source: "apps", uid: 1, gid: 2, pid: 3)
        let outcome = queue.append(
            json.span, events: events.span, from: origin, lane: nil, announces: announces)
        guard case .queued = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test func `an append wakes the writer once, until it has taken the events`() {
        append(announces: true)
        #expect(hasRung)
        append(announces: true)
        #expect(!hasRung)
        if let taken = queue.take() { queue.giveBack(taken) }
        append(announces: true)
        #expect(hasRung)
    }

    @Test func `events that are not announced wake the writer when they are`() {
        queue.announce()
        #expect(!hasRung, "there is nothing to write")
        append(announces: false)
        append(announces: false)
        #expect(!hasRung)
        queue.announce()
        #expect(hasRung)
        queue.announce()
        #expect(!hasRung, "the writer knows already")
        if let taken = queue.take() { queue.giveBack(taken) }
        append(announces: false)
        queue.announce()
        #expect(hasRung)
    }

    /// The writer adds cursors to a commit that it has taken.
    @Test(arguments: [72, 4_000]) func `the next commit is built for its place behind what the writer adds`(
        _ bytes: Int
    ) throws {
        append(announces: true)
        let first = try #require(queue.take())
        queue.noteAdded(bytes)
        append(announces: true)
        let second = try #require(queue.take())
        // The queue was made with so much room in the segment.
        let offset = AlignedMemory.alignment - Segment.sealSize % AlignedMemory.alignment + first.count + bytes
        #expect(second.canLendBlocks(0..<second.count, behind: offset % AlignedMemory.alignment, block: 4096))
    }

    @Test func `what the writer adds moves no events that are queued behind it`() throws {
        append(announces: true)
        _ = try #require(queue.take())
        append(announces: true)
        queue.noteAdded(72)
        let second = try #require(queue.take())
        #expect(second.marks.count == 1 && second.isFilled())
        #expect(second.marks.first?.header.firstPosition == 2)
    }

    @Test func `an append that wakes the writer does so for the events before it`() {
        append(announces: false)
        append(announces: true)
        #expect(hasRung)
    }

    /// A queue whose buffers have 256 KiB: four, of which two may wait.
    private func smallQueue() -> AppendQueue {
        var options = JournalOptions()
        options.queueBytes = 256 << 10
        options.memoryBytes = 1 << 20
        return AppendQueue(options: options, clock: SystemClock(), next: 1, lanes: [:], room: 64 << 20, bell: bell)
    }

    /// Appends events of 1,000 bytes until the queue is full.
    /// - Returns: how many it has taken.
    private func fill(_ queue: AppendQueue) -> Int {
        let json = Array("{\"type\":\"track\",\"event\":\"\(String(repeating: "e", count: 972))\"}".utf8)
        let events = [ScannedEvent(offset: 0, length: UInt32(json.count), index: EventIndex(kind: .track))]
        let origin = Origin(source: "apps", uid: 1, gid: 2, pid: 3)
        var count = 0
        while case .queued = queue.append(json.span, events: events.span, from: origin, lane: nil) { count += 1 }
        return count
    }

    @Test func `full buffers wait in the order of their events, up to half of the memory`() throws {
        let queue = smallQueue()
        for round in 0..<3 {
            let before = queue.next
            let count = fill(queue)
            #expect(queue.queuedBytes > 500 << 10 && queue.queuedBytes <= 512 << 10, "round \(round)")
            #expect(!queue.spaceToTell())
            var next = before
            var taken: [CommitBuffer] = []
            while let buffer = queue.take() {
                taken.append(buffer)
                for mark in buffer.marks {
                    #expect(mark.header.firstPosition == next)
                    next = mark.header.endPosition
                }
            }
            #expect(taken.count == 2 && next == before + UInt64(count) && queue.next == next)
            #expect(queue.queuedBytes == 0 && queue.spaceToTell() && !queue.spaceToTell())
            for buffer in taken { queue.giveBack(buffer) }
        }
        #expect(queue.buffers <= 4)
    }

    @Test func `readers that keep buffers cost memory only while they do`() throws {
        let queue = smallQueue()
        var kept: [CommitBuffer] = []
        for _ in 0..<5 {
            _ = fill(queue)
            while let buffer = queue.take() { kept.append(buffer) }
        }
        #expect(queue.buffers > 4, "events are taken although readers keep all buffers")
        for buffer in kept { queue.giveBack(buffer) }
        #expect(queue.buffers == 3, "the front one, and two that may wait")
        #expect(fill(queue) > 400)
    }
}
