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
        queue.giveBack(queue.take())
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
        queue.giveBack(queue.take())
        append(announces: false)
        queue.announce()
        #expect(hasRung)
    }

    @Test func `an append that wakes the writer does so for the events before it`() {
        append(announces: false)
        append(announces: true)
        #expect(hasRung)
    }
}
