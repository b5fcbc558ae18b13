import Platform
import Telemetry

/// How long the journal's disk takes. A journal without timings reads no clock for them. A simulation has none, so they
/// do not change its course.
package final class JournalTimings: Sendable {
    /// The time of each sync of a segment, which a commit waits for.
    package let syncs = Histogram(bounds: .ofDisk)
    /// For each event, the time from its receipt to its acknowledgement: it was valid and queued, and then it was
    /// committed. Events of one sender that were committed together count with the time of the first.
    package let commits = Histogram(bounds: .ofDisk)
    private let clock: any Clock

    package init(clock: any Clock) { self.clock = clock }

    /// Measures a sync. One that fails is measured, too: a disk often fails slowly.
    func measureSync(_ sync: () throws(SystemError) -> Void) throws(SystemError) {
        let began = clock.now()
        defer { syncs.record(nanoseconds: (clock.now() - began).inNanoseconds) }
        try sync()
    }

    var wallClock: Int64 { clock.wallClock() }
}

extension Histogram.Recorder {
    /// - Parameters:
    ///   - buffer: all of its events are acknowledged.
    ///   - now: nanoseconds since 1970-01-01 UTC.
    mutating func addCommit(of buffer: CommitBuffer, at now: Int64) {
        for index in buffer.marks.indices {
            add(
                now.saturatingSubtract(buffer.marks[index].header.receivedAt),
                count: Int(buffer.marks[index].header.count))
        }
    }
}
