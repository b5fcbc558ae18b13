/// How a journal behaves; the operator's words for each are in the configuration.
package struct JournalOptions: Sendable, Equatable {
    package enum Sync: Sendable, Equatable {
        /// Acknowledged means: on disk.
        case always
        /// Acknowledged means: written. A power cut loses at most this much time; destinations
        /// see events when they are on disk.
        case interval(Duration)
        /// Acknowledged means: written. The kernel decides when it reaches the disk.
        case never
    }

    /// What happens when the retained size is reached and a destination still needs the oldest
    /// events.
    package enum WhenFull: Sendable, Equatable {
        /// `append` says busy: clients wait.
        case block
        /// The destinations that are behind lose their oldest events; counted.
        case dropOldest
        /// `append` refuses: clients are told.
        case reject
    }

    package static let minimumSegmentSize = 64 << 10
    package static let maximumSegmentSize = 1 << 30

    package var sync: Sync = .always
    /// Bytes a segment file has. A start after a crash reads one segment, the last.
    package var segmentSize = 64 << 20
    /// Bytes that may wait for the next group commit. As many again may be on their way to the disk,
    /// and as many are kept behind that for destinations that keep up.
    package var queueBytes = 2 << 20
    package var retainTime: Duration = .seconds(7 * 86_400)
    /// Bytes that all segments together may have, the prepared one included.
    package var retainSize = 20 << 30
    package var whenFull: WhenFull = .block
    package var cursorInterval: Duration = .seconds(1)
    /// Bytes of the filesystem that segments leave free, for cursors and dead letters.
    package var reserveBytes = 16 << 20
    /// The same, on a filesystem that is small: whoever has one has small segments.
    var reserve: Int { min(reserveBytes, 2 * segmentSize) }
    /// For the simulator, which takes one out; taken over when the journal is opened.
    package var protections = Protections.all

    package init() {}

    /// Throws `.invalidOptions` for values that a journal cannot work with.
    package func validate() throws(JournalError) {
        guard (Self.minimumSegmentSize...Self.maximumSegmentSize).contains(segmentSize), segmentSize % 4096 == 0 else {
            throw JournalError(
                .invalidOptions,
                "journal.segment_size is \(segmentSize) bytes: give a multiple of 4 KiB from 64 KiB to 1 GiB")
        }
        guard (256 << 10...1 << 30).contains(queueBytes) else {
            throw JournalError(.invalidOptions, "journal.queue is \(queueBytes) bytes: give 256 KiB to 1 GiB")
        }
        guard retainSize / 3 >= segmentSize else {
            throw JournalError(
                .invalidOptions,
                "journal.retain size is \(retainSize) bytes: give at least three segments (\(3 * segmentSize))")
        }
        guard cursorInterval > .zero, reserveBytes >= 0, retainTime >= .zero else {
            throw JournalError(.invalidOptions, "journal: cursor_interval must be above zero, retain not below it")
        }
        if case .interval(let duration) = sync, duration <= .zero {
            throw JournalError(.invalidOptions, "journal.sync: give an interval above zero, or `always`")
        }
    }
}
