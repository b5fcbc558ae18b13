import PenstockPluginKit

/// The reading thread of a source: makes events of the entries and offers them, and waits for new ones.
final class JournalFollower {
    static let laneName = "journal"

    /// The bytes of an entry that are read.
    private static let maximumEntry = 4 << 20
    /// A position that only other entries moved is offered after so many, or after this time.
    private static let maximumSkipped = 10_000
    private static let positionInterval = Duration.seconds(5)
    /// Events wait at most so long for an offer to fill up.
    private static let longestWait = Duration.seconds(1)
    private static let maximumFailures = 60

    private let settings: JournaldSourceSettings
    private let host: SourceHost
    private let files: JournalFiles
    private let pending: PendingOffers<Int>
    private let filter: JournalFilter
    private let event: LogEvent
    private let own: OwnEntries?

    private var entry = LogEntry()
    private var events = EventBuffer()
    /// The last entry that the offers cover, together with `events` and `skipped`.
    private var position: JournalCursor?
    /// Entries behind `position` that are left out.
    private var skipped = 0
    private var lastOffer = ContinuousClock.now
    private var isStopped = false

    /// - Throws: an error that names the setting.
    init(
        _ settings: JournaldSourceSettings, _ host: SourceHost, _ files: JournalFiles, _ pending: PendingOffers<Int>
    ) throws(SourceError) {
        self.settings = settings
        self.host = host
        self.files = files
        self.pending = pending
        filter = try JournalFilter(settings)
        event = try LogEvent(settings)
        own = settings.own == true ? nil : OwnEntries()
        files.setLongestValue(settings.longestValue)
    }

    /// - Parameter isEnding: asked between entries.
    func run(from stored: JournalCursor?, isEnding: () -> Bool) {
        host.laneOpened(Self.laneName)
        defer { host.laneClosed(Self.laneName) }
        var failures = 0
        var isPlaced = false
        while !isStopped, !isEnding() {
            do {
                if !isPlaced {
                    try begin(stored)
                    isPlaced = true
                }
                let found = try readOn(isEnding)
                if failures > 0 { host.problem(nil) }
                failures = 0
                if !found { files.wait(skipped > 0 ? .seconds(1) : .seconds(5)) }
            } catch {
                failures += 1
                host.problem("\(error)")
                guard failures < Self.maximumFailures else { return host.fail("\(error)") }
                files.wait(.seconds(1))
            }
        }
    }

    // MARK: - Where to begin

    private func begin(_ stored: JournalCursor?) throws(SourceError) {
        if let stored {
            try continueAfter(stored)
        } else if settings.start == .beginning {
            try files.seekHead()
        } else {
            try files.seekTail()
            if try files.previous() {
                // The journal must know the place, or a restart before the next entry would begin at a later one.
                position = try files.cursor()
                offer()
            } else {
                try files.seekHead()
            }
        }
    }

    private func continueAfter(_ stored: JournalCursor) throws(SourceError) {
        position = stored
        try files.seek(stored)
        guard try files.next() else {
            report("no entry is at or after it: reading goes on at the beginning of the journal", lost: 0)
            position = nil
            return try files.seekHead()
        }
        if try files.isAt(stored) { return }
        let first = try files.cursor()
        let isSameSequence = first.sequence == stored.sequence && first.number > stored.number
        let lost = isSameSequence ? first.number - stored.number - 1 : 0
        let number = isSameSequence ? "\(lost)" : "an unknown number of"
        report("reading goes on at the next later one; \(number) entries between them are gone", lost: lost)
        try take()
    }

    private func report(_ text: String, lost: UInt64) {
        host.count("journald_positions_gone")
        if lost > 0 { host.count("journald_lost_entries", by: lost) }
        host.log(
            .error, "the journal no longer has the entry that was read last: \(text)",
            ["position": position?.text ?? "", "advice": "keep the journal longer: SystemMaxUse= in journald.conf"])
    }

    // MARK: - Entries

    /// Reads until there is no later entry.
    /// - Returns: whether there was one.
    private func readOn(_ isEnding: () -> Bool) throws(SourceError) -> Bool {
        var found = false
        var count = 0
        while !isStopped, !isEnding(), try files.next() {
            found = true
            try take()
            count += 1
            if count.isMultiple(of: 64), !events.isEmpty, lastOffer + Self.longestWait < .now { offer() }
        }
        if !events.isEmpty || (skipped > 0 && lastOffer + Self.positionInterval < .now) { try offerSoFar() }
        return found
    }

    /// Takes the current entry.
    private func take() throws(SourceError) {
        do {
            try files.read(&entry, longest: settings.longestValue, most: Self.maximumEntry)
        } catch {
            // One damaged entry must not stop the rest.
            host.count("journald_damaged_entries")
            host.log(.error, "an entry is left out: \(error)")
            return try skip()
        }
        guard filter.matches(entry) else { return try skip() }
        if let own, own.contains(entry) {
            host.count("journald_own_entries")
            return try skip()
        }
        let cursor = try files.cursor()
        let json = event.json(entry, cursor)
        let isFull = events.count >= host.maxOfferEvents || events.byteCount + json.count > host.maxOfferBytes
        if isFull, !events.isEmpty { offer() }
        events.append(json)
        position = cursor
        skipped = 0
    }

    private func skip() throws(SourceError) {
        skipped += 1
        if skipped >= Self.maximumSkipped { try offerSoFar() }
    }

    // MARK: - Offers

    /// The position becomes that of the current entry.
    private func offerSoFar() throws(SourceError) {
        if skipped > 0 { position = try files.cursor() }
        offer()
    }

    /// Offers what was read up to `position`. Waits while the host is busy.
    private func offer() {
        guard let position else { return }
        let lane = Lane(name: Self.laneName, position: position.packed)
        let count = events.count
        var rest = events
        offering: while true {
            do {
                switch try pending.offer(rest, lane: lane, receipt: count, waiting: .seconds(1)) {
                case .taken: break offering
                case .busy: continue
                case .stopped:
                    isStopped = true
                    return
                }
            } catch {
                guard rest.count == 1 else {
                    host.fail("\(error)")
                    isStopped = true
                    return
                }
                // A single event that the host never takes must not stop the rest.
                host.log(.error, "an entry is left out: \(error)", ["cursor": position.text])
                host.count("journald_left_out")
                rest.removeAll()
            }
        }
        host.count("journald_entries", by: UInt64(rest.count))
        events.removeAll()
        skipped = 0
        lastOffer = .now
    }
}
