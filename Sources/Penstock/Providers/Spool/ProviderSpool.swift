#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// A provider's spool. It is opened when it is first needed, takes over the events of processes that have ended, and is
/// left alone for a while after a failure. Use it from one thread.
package final class ProviderSpool {
    package typealias Instant = ContinuousClock.Instant

    /// The result of an attempt to append.
    package enum Appending {
        case done
        /// The limit of the size is reached.
        case full
        /// The lines cannot be written.
        /// - Parameter problem: What to report; nil if an earlier attempt failed, too.
        case failed(problem: String?)
    }

    /// How long to wait before a failed spool is tried again.
    private static let retry: Duration = .seconds(5)
    /// The interval of attempts without a directory, where there is nothing to take over.
    private static let longestWait: Duration = .seconds(3600)

    private let directory: String?
    private let maximumBytes: Int
    private let segmentBytes: Int
    private let adoptionInterval: Duration
    private var spool: Spool?
    private var failedAt: Instant?
    private var isFull = false
    /// Whether the events of ended processes must be deleted, because an attempt has failed.
    private var isPurgeDue = false
    /// Whether it has been reported that the spool cannot be read now.
    private var isReported = false
    /// The time of the next look for events of ended processes.
    package private(set) var adoptsAt: Instant = .now

    /// - Parameter directory: nil if the provider has no spool. Then nothing can be appended.
    package init(directory: String?, maximumBytes: Int, segmentBytes: Int, adoptionInterval: Duration) {
        self.directory = directory
        self.maximumBytes = maximumBytes
        self.segmentBytes = segmentBytes
        self.adoptionInterval = adoptionInterval
    }

    /// Whether the directory exists, so that earlier processes may have left events in it.
    package static func exists(_ directory: String) -> Bool { Spool.exists(directory) }

    /// The number of bytes that are not sent.
    package var unsent: Int { spool?.unsent ?? 0 }
    /// The number of bytes that are not acknowledged.
    package var bytes: Int { spool?.bytes ?? 0 }

    /// Whether lines may be appended now.
    package func hasRoom(_ now: Instant) -> Bool {
        directory != nil && !isFull && failedAt.map { $0.duration(to: now) >= Self.retry } ?? true
    }

    /// Takes over the events of ended processes when it is time.
    /// - Parameter isWaiting: Whether lines are in flight. Then it must wait: an acknowledgement settles the bytes at
    ///   the front.
    /// - Returns: Whether it has looked.
    package func adoptIfDue(_ now: Instant, isWaiting: Bool) throws(SpoolUnavailable) -> Bool {
        guard now >= adoptsAt else { return false }
        guard let directory else {
            adoptsAt = now + Self.longestWait
            return false
        }
        adoptsAt = now + adoptionInterval
        guard Spool.exists(directory) else { return false }
        guard !isWaiting else {
            adoptsAt = now + adoptionInterval / 10
            return false
        }
        open(directory)
        guard try spool?.adopt(purging: isPurgeDue) == true else {
            adoptsAt = now + adoptionInterval / 10
            return false
        }
        isPurgeDue = false
        isFull = false
        if unsent == 0 { isReported = false }
        return true
    }

    private func open(_ directory: String) {
        if spool != nil { return }
        spool = Spool(directory: directory, maximumBytes: maximumBytes, segmentBytes: segmentBytes)
    }

    /// Appends whole lines.
    /// - Parameter wasSent: Whether the lines are already in flight.
    package func append(_ lines: [UInt8], wasSent: Bool, now: Instant) -> Appending {
        guard let directory else { return .full }
        open(directory)
        switch spool?.append(lines, wasSent: wasSent) ?? .failed(code: errno) {
        case .done:
            failedAt = nil
            isFull = false
            return .done
        case .full:
            isFull = true
            return .full
        case .failed(let code):
            defer { failedAt = now }
            guard failedAt == nil else { return .failed(problem: nil) }
            let advice = SpoolUnavailable(errno: code)?.advice ?? "free disk space or choose another directory"
            return .failed(
                problem: "cannot write to the spool \(directory): \(systemErrorText(code)); events stay in memory; "
                    + advice)
        }
    }

    /// Returns the next unsent lines of at most this size, or one longer line.
    /// - Returns: nil if they cannot be read.
    package func next(_ bytes: Int) throws(SpoolUnavailable) -> LineBlock? {
        guard let spool else { return nil }
        let lines = try spool.next(bytes)
        isReported = false
        return lines
    }

    /// - Returns: What to report; nil if it was reported since the spool was last read.
    package func report(_ problem: SpoolUnavailable) -> Diagnostic? {
        defer { isReported = true }
        guard !isReported else { return nil }
        return Diagnostic(
            .spoolFailed,
            "cannot read the spool \(directory ?? ""): \(systemErrorText(problem.code)); its events stay there until "
                + "it can be read; \(problem.advice)",
            events: 0)
    }

    /// Skips unsent lines that cannot be read. They are acknowledged together with the lines that follow.
    /// - Returns: How many bytes were skipped, and what to report.
    package func skipUnreadable() -> (bytes: Int, problem: String) {
        let bytes = spool?.skipUnreadable() ?? 0
        return (bytes, "cannot read \(bytes) bytes of events in \(directory ?? "the spool"); they were dropped")
    }

    /// Makes everything that is not acknowledged unsent.
    package func rewind() {
        spool?.rewind()
        isFull = false
    }

    /// Acknowledges bytes at the front, in the order in which they were sent.
    package func acknowledge(bytes: Int) {
        spool?.acknowledge(bytes: bytes)
        isFull = false
    }

    /// Acknowledges lines at the front, in the order in which they were sent.
    func acknowledge(lines: Int) { spool?.acknowledge(lines: lines) }

    /// Deletes all events, also those of ended processes.
    /// The latter are deleted by a later `adoptIfDue` if another process adopts stores now, or on an error.
    /// - Throws: If the latter cannot be read now.
    package func purge() throws(SpoolUnavailable) {
        if let directory, Spool.exists(directory) { open(directory) }
        spool?.purge()
        isFull = false
        isPurgeDue = true
        isPurgeDue = try spool?.adopt(purging: true) == false
    }

    /// Releases the files. Events that are not acknowledged stay on disk for the next process.
    package func close() { spool?.close() }
}
