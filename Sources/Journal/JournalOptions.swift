/// The settings of a journal. Most are keys of the configuration's `journal:` section.
package struct JournalOptions: Sendable, Equatable {
    package enum Sync: Sendable, Equatable {
        /// An acknowledged event is on disk.
        case always
        /// An acknowledged event is written. A power cut loses at most the events of this interval. Destinations see
        /// events once they are on disk.
        case interval(Duration)
        /// An acknowledged event is written. The kernel decides when it reaches the disk.
        case never
    }

    /// What to do when `retainSize` is reached and a destination still needs the oldest events.
    package enum WhenFull: Sendable, Equatable {
        /// `append` returns `.busy`: clients wait.
        case block
        /// Destinations that lag lose their oldest events; the loss is counted and logged.
        case dropOldest
        /// `append` returns `.refused`: clients get an error.
        case reject
    }

    package static let minimumSegmentSize = 64 << 10
    package static let maximumSegmentSize = 1 << 30

    package var sync: Sync = .always
    /// The size of a segment file in bytes. A start after a crash reads one segment, the last.
    package var segmentSize = 64 << 20
    /// The memory of all commits in bytes: half of it, at most a segment, for events that wait; the rest for the commit
    /// that is being written, and for the latest ones, which destinations that keep up read there.
    package var memoryBytes = 16 << 20
    /// The most bytes of one commit; at most a quarter of `memoryBytes`.
    package var queueBytes = 2 << 20
    /// How many commits the memory holds.
    var commits: Int { memoryBytes / queueBytes }
    /// How many of them may wait: what is accepted must have room in the current segment and in the next one.
    var waitingCommits: Int { min(commits / 2, max(2, segmentSize / queueBytes)) }
    /// The bytes of commits that readers may still use when they are no longer among the latest: these come on top.
    var lentBytes: Int { min(recentBytes, 4 * queueBytes) }
    /// The bytes for the latest commits, beside those that wait and the one that is being written.
    var recentBytes: Int { memoryBytes - (waitingCommits + 1) * queueBytes }
    /// The bytes of segments that lagging readers share, while there are several at one place: on top, too.
    var sharedBytes: Int { min(memoryBytes / 4, 32 << 20) }
    /// A commit of up to this many bytes is copied for its readers, so that its buffer can be used again at once.
    var smallCommit: Int { min(queueBytes / 4, 512 << 10) }
    /// How long those who append events may wait for more before they wake the writer.
    package var commitDelay: Duration = .microseconds(75)
    /// How long a commit waits for readers that would have to read it from the disk; longer with more readers than
    /// processors (ReaderPause).
    package var readerWait: Duration = .milliseconds(5)
    /// The processors that readers share with everybody else.
    package var processors = 1.0
    package var retainTime: Duration = .seconds(7 * 86_400)
    /// The maximum of bytes that all segments may take together, including the spare.
    package var retainSize = 20 << 30
    package var whenFull: WhenFull = .block
    package var cursorInterval: Duration = .seconds(1)
    /// Bytes that segments leave free on the filesystem, for cursors and dead letters.
    package var reserveBytes = 16 << 20
    /// The reserve in use: less on a small filesystem, where segments are small, too.
    var reserve: Int { min(reserveBytes, 2 * segmentSize) }
    /// The simulator takes single protections out. Fixed when the journal is opened.
    package var protections = Protections.all

    package init() {}

    /// - Throws: `.invalidOptions` for values with which a journal cannot work.
    package func validate() throws(JournalError) {
        guard (Self.minimumSegmentSize...Self.maximumSegmentSize).contains(segmentSize), segmentSize % 4096 == 0 else {
            throw JournalError(
                .invalidOptions,
                "journal.segment_size is \(segmentSize) bytes: give a multiple of 4 KiB from 64 KiB to 1 GiB")
        }
        guard (256 << 10...1 << 30).contains(queueBytes) else {
            throw JournalError(.invalidOptions, "journal.queue is \(queueBytes) bytes: give 256 KiB to 1 GiB")
        }
        guard (1 << 20...8 << 30).contains(memoryBytes), memoryBytes / 4 >= queueBytes else {
            throw JournalError(
                .invalidOptions,
                "journal.memory is \(memoryBytes) bytes: give 1 MiB to 8 GiB, at least four times journal.queue")
        }
        guard retainSize / 3 >= segmentSize else {
            throw JournalError(
                .invalidOptions,
                "journal.retain size is \(retainSize) bytes: give at least three segments (\(3 * segmentSize))")
        }
        guard cursorInterval > .zero, reserveBytes >= 0, retainTime >= .zero else {
            throw JournalError(
                .invalidOptions,
                "journal: cursor_interval must be above zero, and retain.time and the reserve must not be negative")
        }
        if case .interval(let duration) = sync, duration <= .zero {
            throw JournalError(.invalidOptions, "journal.sync: give an interval above zero, or `always`")
        }
    }
}
