import Events
import Platform

/// Validates events and appends them to the journal for all connections of one source on one event loop. Connections
/// share the scanner and its result buffers, so an idle connection needs almost no memory. Belongs to its event loop's
/// thread.
///
/// The scanner (`Events/EventScanner`) validates the lines; `ScannedRefusal` writes the reason of a refusal.
package final class EventAdmission {
    /// About how many lines of one scan are repaired. A repair takes about 1 µs.
    private static let repairsAtOnce = 256

    let limits: SourceLimits
    var maximumEventSize: Int { limits.maximumEventSize }
    /// Results of the last scan. Reused for every scan.
    package internal(set) var accepted: [ScannedEvent] = []
    package internal(set) var refused: [RefusedLine] = []
    /// The buffer that `accepted` refers to, if it is not the buffer that was scanned.
    var rewritten: [UInt8]?

    private let inspector: (any EventInspector)?
    private let scrubber: (any EventScrubber)?
    private let scanner: EventScanner
    private let repair: LineRepair?
    private let appender: any EventAppender
    private let statistics: SourceStatistics
    private let clock: any Clock

    package init(
        limits: SourceLimits, appender: any EventAppender, statistics: SourceStatistics, clock: any Clock,
        inspector: (any EventInspector)? = nil, scrubber: (any EventScrubber)? = nil
    ) {
        self.inspector = inspector
        self.scrubber = scrubber
        self.limits = limits
        scanner = EventScanner(maximumEventSize: limits.maximumEventSize, maximumDepth: limits.maximumDepth)
        repair = limits.repairs.isEmpty ? nil : LineRepair(limits.repairs, scanner: scanner)
        self.appender = appender
        self.statistics = statistics
        self.clock = clock
    }

    /// Whether an event costs more than its validation. Repairs are bounded by their number instead.
    var isSlow: Bool { inspector != nil || scrubber != nil }

    func now() -> Instant { clock.now() }

    /// Validates the complete lines of `bytes`. The results are in `accepted` and `refused`.
    /// - Parameter maximumRefused: the scan ends early after about this many refused lines.
    @discardableResult
    package func scan(_ bytes: Span<UInt8>, maximumRefused: Int) -> ScanResult {
        accepted.removeAll(keepingCapacity: true)
        refused.removeAll(keepingCapacity: true)
        rewritten = nil
        // A caller that bounds the refused lines of a scan bounds the repairs with them.
        let limit = repair == nil || maximumRefused == .max ? maximumRefused : min(maximumRefused, Self.repairsAtOnce)
        let result = scanner.scan(bytes, accepted: &accepted, refused: &refused, maximumRefused: limit)
        var counts = NormalisationCounts(result)
        if let repair { repairLines(of: bytes, repair, &counts) }
        statistics.normalise(counts)
        // Inspect the event before scrubbing, which may make it look different.
        if let inspector, !accepted.isEmpty, inspector.begin() { withAccepted(of: bytes) { inspect($0, inspector) } }
        if let scrubber, !accepted.isEmpty { withAccepted(of: bytes) { scrub($0, scrubber) } }
        return result
    }

    /// Passes the buffer that `accepted` refers to.
    private func withAccepted(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
        if let rewritten { body(rewritten.span) } else { body(bytes) }
    }

    private func repairLines(of bytes: Span<UInt8>, _ repair: LineRepair, _ counts: inout NormalisationCounts) {
        guard refused.contains(where: repair.mayRepair) else { return }
        let slice = RepairedSlice(bytes, accepted: accepted, refused: refused, by: repair)
        rewritten = slice.bytes
        accepted = slice.accepted
        refused = slice.refused
        counts.add(slice.counts)
    }

    /// Events that pass cost nothing extra. From the first event that does not pass, the slice is rewritten.
    private func inspect(_ bytes: Span<UInt8>, _ inspector: any EventInspector) {
        var inspected = 0
        inspecting: for event in accepted {
            let json = bytes.extracting(Int(event.offset)..<Int(event.offset) + Int(event.length))
            switch inspector.inspect(json, event.index) {
            case .passes: break
            case .noted(let reason): statistics.note(reason)
            case .rewritten, .refused: break inspecting
            }
            inspected += 1
        }
        guard inspected < accepted.count else { return }
        var number = 0
        take(
            RewrittenSlice(bytes, accepted, scanner) { json, index, output in
                defer { number += 1 }
                switch number < inspected ? .passes : inspector.inspect(json, index) {
                case .passes: output.append(contentsOf: json)
                case .noted(let reason):
                    statistics.note(reason)
                    output.append(contentsOf: json)
                case .rewritten(let reason):
                    statistics.note(reason)
                    inspector.appendRewritten(to: &output)
                case .refused(let refusal): return refusal
                }
                return nil
            })
    }

    private func scrub(_ bytes: Span<UInt8>, _ scrubber: any EventScrubber) {
        let scrub = { (json: Span<UInt8>, index: EventIndex, output: inout [UInt8]) in
            scrubber.scrub(json, index, into: &output).map { Refusal(reason: .notAllowed, detail: "scrub: \($0)") }
        }
        take(RewrittenSlice(bytes, accepted, scanner, rewrite: scrub))
    }

    private func take(_ slice: RewrittenSlice) {
        rewritten = slice.bytes
        accepted = slice.accepted
        guard !slice.refused.isEmpty else { return }
        refused += slice.refused
        refused.sort { $0.line < $1.line }
    }

    /// Offers `accepted` to the journal.
    /// - Parameters:
    ///   - bytes: the buffer that was scanned.
    ///   - lane: the lane that the events come from, and the position behind them; nil: the sender has no lanes.
    ///   - witness: is told the end before the events can become durable.
    /// - Returns: queued: up to the end of all of them, or of the earlier events that they repeat.
    package func append(
        _ bytes: Span<UInt8>, from origin: Origin, lane: LanePosition? = nil, witness: (any AppendWitness)? = nil
    ) -> AppendOutcome {
        let (events, rewritten) = (accepted, rewritten)
        let (outcome, duplicates) =
            if let rewritten {
                statistics.deduplication.append(
                    rewritten.span, events, from: origin, lane, witness, to: appender, clock)
            } else {
                statistics.deduplication.append(bytes, events, from: origin, lane, witness, to: appender, clock)
            }
        if case .queued = outcome { statistics.accept(events.count - duplicates, duplicates: duplicates) }
        return outcome
    }

    /// Counts `refused`. Explains the latest refusals, which are kept for `penstock status`.
    /// - Parameter bytes: the buffer that was scanned.
    package func settleRefused(_ bytes: Span<UInt8>) {
        guard !refused.isEmpty else { return }
        let latest = refused.suffix(SourceStatistics.recentLimit).map { $0.refusal(in: bytes, by: scanner) }
        statistics.refuse(refused, latest: latest, at: clock.wallClock())
    }

    package func explain(_ line: RefusedLine, in bytes: Span<UInt8>) -> Refusal { line.refusal(in: bytes, by: scanner) }

    func refuse(_ refusal: Refusal) {
        statistics.refuse([RefusedLine(line: 0, refusal: refusal)], latest: [refusal], at: clock.wallClock())
    }

    /// Counts `count` events that are refused for the same reason.
    func refuse(_ refusal: Refusal, times count: Int) {
        let lines = (0..<count).map { RefusedLine(line: $0, refusal: refusal) }
        statistics.refuse(lines, latest: [refusal], at: clock.wallClock())
    }

    /// Forgets `accepted`, so that `append` stores a lane's position alone.
    package func dropAccepted() {
        accepted.removeAll(keepingCapacity: true)
        rewritten = nil
    }

    package var durableEnd: UInt64 { appender.durableEnd }
}
