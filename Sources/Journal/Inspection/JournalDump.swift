import Events
import Platform

/// The part of a journal to dump: from the first bound up to the second, exclusive.
package struct DumpRange: Sendable {
    package enum Bound: Sendable, Equatable {
        case position(UInt64)
        /// Receive time, in nanoseconds since 1970-01-01 UTC.
        case time(Int64)
    }

    package var from: Bound?
    package var until: Bound?

    package init(from: Bound? = nil, until: Bound? = nil) {
        self.from = from
        self.until = until
    }

    /// Times can decrease from one event to the next when the clock is set back; positions never do.
    package func contains(position: UInt64, time: Int64) -> Bool {
        let isBehindStart =
            switch from {
            case .position(let first): position >= first
            case .time(let first): time >= first
            case nil: true
            }
        let isBeforeEnd =
            switch until {
            case .position(let end): position < end
            case .time(let end): time < end
            case nil: true
            }
        return isBehindStart && isBeforeEnd
    }

    /// Whether no event in a segment can lie in the range.
    func excludes(_ positions: Range<UInt64>, latest: Int64?) -> Bool {
        switch from {
        case .position(let first) where positions.upperBound <= first: return true
        case .time(let first):
            let latest = latest?.addingReportingOverflow(RecordLayout.maximumDelay * 1_000_000)
            if let latest, !latest.overflow, latest.partialValue < first { return true }
        default: break
        }
        return isBehind(positions.lowerBound)
    }

    func isBehind(_ position: UInt64) -> Bool {
        if case .position(let end) = until { position >= end } else { false }
    }
}

/// An event as stored in a journal.
package struct DumpedEvent: Sendable, Equatable {
    package var position: UInt64
    /// When this host received it, and when the first host did: nanoseconds since 1970-01-01 UTC.
    package var receivedAt: Int64
    package var firstReceivedAt: Int64
    package var origin: Origin
    /// The JSON as the client sent it.
    package var json: [UInt8]
}

/// Memory for one batch at a time, whatever the journal's size.
extension JournalInspector {
    /// Calls `body` for every whole event, in order, until it returns false. On a live journal it includes the events
    /// that exist when the last segment is read; the last of them may not be durable yet.
    /// - Parameter onGap: called with positions between whole batches that cannot be read; `inspect` reports why.
    package func forEachEvent(
        in range: DumpRange, onGap: (Range<UInt64>) -> Void, _ body: (DumpedEvent) -> Bool
    ) throws(JournalError) {
        do throws(SystemError) {
            let positions = try disk.list(directory).compactMap(Segment.position(ofName:)).sorted()
            // The expected first position of the next batch.
            var expected: UInt64?
            for (index, position) in positions.enumerated() {
                let following = index + 1 < positions.count ? positions[index + 1] : nil
                if range.isBehind(position) { return }
                // Retention may have removed the file meanwhile.
                guard try disk.status(context.path(Segment.name(position))) != nil else { continue }
                let file = try disk.open(context.path(Segment.name(position)), .readOnly)
                let size = try file.size()
                let seed = context.seed(position)
                let seal = try Seal.read(file, fileSize: size, seed)
                if range.excludes(position..<(following ?? .max), latest: seal?.latest) {
                    expected = nil
                    continue
                }
                var walker = SegmentWalker(file, seed: seed, limit: seal?.validLength ?? size, verifying: true)
                var next = expected ?? position
                let goesOn = try walk(&walker, following ?? .max, &next, range, onGap, body)
                expected = next
                if !goesOn { return }
            }
        } catch {
            throw JournalError("read the journal", error)
        }
    }

    /// - Parameters:
    ///   - following: the next segment's first position. Batches from there on were written again: this file failed.
    ///   - expected: the expected first position of the next batch.
    /// - Returns: false if `body` returned false or the range ends.
    private func walk(
        _ walker: inout SegmentWalker, _ following: UInt64, _ expected: inout UInt64, _ range: DumpRange,
        _ onGap: (Range<UInt64>) -> Void, _ body: (DumpedEvent) -> Bool
    ) throws(SystemError) -> Bool {
        while true {
            switch try walker.next() {
            case .end: return true
            case .batch(let header, let offset, true):
                if header.firstPosition >= following { return true }
                if header.firstPosition > expected,
                    !range.excludes(expected..<header.firstPosition, latest: header.receivedAt)
                {
                    onGap(expected..<header.firstPosition)
                }
                expected = max(expected, header.endPosition)
                guard header.kind == BatchHeader.Kind.events else { continue }
                if !give(header, walker.payload(of: header, at: offset), range, body) { return false }
            case .batch, .hole: continue
            }
        }
    }

    private func give(_ header: BatchHeader, _ payload: RawSpan, _ range: DumpRange, _ body: (DumpedEvent) -> Bool)
        -> Bool
    {
        let times = ReceiveTimes(header, payload)
        let origin = Origin(
            source: String(decoding: payload.array(0..<Int(header.sourceLength)), as: UTF8.self), uid: header.uid,
            gid: header.gid, pid: header.pid, host: times.host)
        var place = Int(header.sourceLength).paddedTo8
        for position in header.firstPosition..<header.endPosition {
            guard let record = RecordLayout.read(payload, at: place, end: payload.byteCount) else { return true }
            let receivedAt = times.here(record.delay)
            if range.isBehind(position) { return false }
            // An event kind of a later version is skipped, as for a destination.
            if EventKind(rawValue: record.kind) != nil, range.contains(position: position, time: receivedAt) {
                let start = place + RecordLayout.headerSize
                let json = payload.array(start..<start + record.length)
                let event = DumpedEvent(
                    position: position, receivedAt: receivedAt,
                    firstReceivedAt: times.first(Int(position - header.firstPosition), record.delay, in: payload),
                    origin: origin, json: json)
                if !body(event) {
                    return false
                }
            }
            place += RecordLayout.size(record.length)
        }
        return true
    }

    /// Calls `body` for every whole dead letter of a destination, oldest first, until it returns false.
    /// - Parameter range: positions are those of the events; times are when delivery gave the letters up.
    package func forEachDeadLetter(
        of destination: String, in range: DumpRange, _ body: (StoredDeadLetter) -> Bool
    ) throws(JournalError) {
        do throws(SystemError) {
            let path = context.path(DeadLetterStore.directory) + "/" + DeadLetterFiles.directoryName(of: destination)
            guard try disk.status(path) != nil else { return }
            try DeadLetterFiles(path, context.uuid, disk).forEach { _, letter in
                range.contains(position: letter.position, time: letter.time) ? body(letter) : true
            }
        } catch {
            throw JournalError("read the dead letters of \(destination)", error)
        }
    }
}
