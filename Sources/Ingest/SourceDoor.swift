import Events
import Platform

/// What one source's connections on one event loop share: the scanner and its results, so that
/// an idle connection owns next to nothing. Belongs to its event loop.
package final class SourceDoor {
    let maximumEventSize: Int
    /// Of the last scan; reused for every one.
    var accepted: [ScannedEvent] = []
    var refused: [ScannedRefusal] = []
    /// What `accepted` lies in, if it is not the bytes that were scanned: they were scrubbed.
    var scrubbed: [UInt8]?

    private let scrubber: (any EventScrubber)?
    private let scanner: EventScanner
    private let appender: any EventAppender
    private let statistics: SourceStatistics
    private let clock: any Clock

    package init(
        limits: SourceLimits, appender: any EventAppender, statistics: SourceStatistics, clock: any Clock,
        scrubber: (any EventScrubber)? = nil
    ) {
        self.scrubber = scrubber
        maximumEventSize = limits.maximumEventSize
        scanner = EventScanner(maximumEventSize: limits.maximumEventSize, maximumDepth: limits.maximumDepth)
        self.appender = appender
        self.statistics = statistics
        self.clock = clock
    }

    /// Validates the whole lines of `bytes`; the results are in `accepted` and `refused`.
    func scan(_ bytes: Span<UInt8>) -> ScanResult {
        accepted.removeAll(keepingCapacity: true)
        refused.removeAll(keepingCapacity: true)
        scrubbed = nil
        let result = scanner.scan(bytes, accepted: &accepted, refused: &refused)
        if let scrubber, !accepted.isEmpty {
            let slice = ScrubbedSlice(bytes, accepted, scrubber, scanner)
            scrubbed = slice.bytes
            accepted = slice.accepted
            if !slice.refused.isEmpty {
                refused += slice.refused
                refused.sort { $0.line < $1.line }
            }
        }
        return result
    }

    /// Offers `accepted` to the journal.
    /// - Parameter bytes: those that were scanned.
    func append(_ bytes: Span<UInt8>, from origin: Origin) -> AppendOutcome {
        let (events, scrubbed) = (accepted, scrubbed)
        let outcome =
            if let scrubbed {
                appender.append(scrubbed.span, events: events.span, from: origin)
            } else {
                appender.append(bytes, events: events.span, from: origin)
            }
        if case .queued = outcome { statistics.accept(accepted.count) }
        return outcome
    }

    func refuse(_ refusal: Refusal) {
        statistics.refuse(refusal, at: clock.wallClock())
    }

    package var durableEnd: UInt64 { appender.durableEnd }
}

/// A source's bounds; the configuration's names in snake_case.
package struct SourceLimits: Sendable, Equatable {
    /// Bytes of one event's JSON (`max_event_size`).
    package var maximumEventSize: Int
    /// Nesting of one event's JSON (`max_depth`).
    package var maximumDepth: Int
    /// `max_connections`.
    package var maximumConnections: Int
    /// Bytes of answers that a client has not read yet (`max_unread_answers`).
    package var maximumUnreadAnswers: Int

    package init(maximumEventSize: Int, maximumDepth: Int, maximumConnections: Int, maximumUnreadAnswers: Int) {
        self.maximumEventSize = maximumEventSize
        self.maximumDepth = maximumDepth
        self.maximumConnections = maximumConnections
        self.maximumUnreadAnswers = maximumUnreadAnswers
    }
}
