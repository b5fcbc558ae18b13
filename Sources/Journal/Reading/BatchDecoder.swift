import Events
import Platform

/// Turns the records of a batch, whose checksum was verified, into event records. One thread.
struct BatchDecoder {
    /// How many bytes ahead to prefetch. Where a record begins is known late, and another processor has written it.
    private static let prefetchDistance = 4096

    /// The events that are wanted; nil: all. The others are counted, and left out.
    var selection: (any EventSelection)?
    private static let all = AllEvents()
    private var origin: Origin?

    /// Appends the records of a batch of events. Batches of other kinds hold none.
    /// - Parameters:
    ///   - start: the offset of the batch's header in `bytes`.
    ///   - position: earlier events are passed over.
    ///   - leftOut: the number of events that were left out since the last record.
    /// - Returns: false if the payload is invalid, although its checksum matches. Nothing is appended then.
    mutating func decode(
        _ header: BatchHeader, _ bytes: RawSpan, at start: Int, from position: UInt64,
        _ events: inout [EventRecord], _ origins: inout [Origin], _ leftOut: inout UInt32
    ) -> Bool {
        guard header.kind == BatchHeader.Kind.events else { return true }
        let begin = start + BatchHeader.size
        let end = begin + Int(header.payloadLength)
        let times = ReceiveTimes(header, bytes.extracting(begin..<end), at: begin)
        note(header, bytes.extracting(begin..<begin + Int(header.sourceLength)), times.host, in: &origins)
        let first = begin + Int(header.sourceLength).paddedTo8
        let origin = UInt32(truncatingIfNeeded: origins.count - 1)
        if let selection {
            return Self.decode(
                header, times, bytes, from: first, to: end, origin, wanted: position, selection, &events, &leftOut)
        }
        return Self.decode(
            header, times, bytes, from: first, to: end, origin, wanted: position, Self.all, &events, &leftOut)
    }

    // Generic, so that no reference is counted for an event.
    private static func decode<Selection: EventSelection>(
        _ header: BatchHeader, _ times: ReceiveTimes, _ bytes: RawSpan, from start: Int, to end: Int, _ origin: UInt32,
        wanted: UInt64, _ selection: Selection, _ events: inout [EventRecord], _ leftOut: inout UInt32
    ) -> Bool {
        let before = (events: events.count, leftOut: leftOut)
        var place = start
        var next = header.firstPosition
        for _ in 0..<header.count {
            guard let record = RecordLayout.read(bytes, at: place, end: end) else {
                events.removeSubrange(before.events...)
                leftOut = before.leftOut
                return false
            }
            // An event kind of a later version is skipped, but takes its position.
            if next >= wanted, let kind = EventKind(rawValue: record.kind) {
                let index = RecordLayout.index(
                    bytes, at: place, kind: kind, flags: record.flags, length: record.length)
                let json = place + RecordLayout.headerSize
                if !selection.mayTake(index, bytes.text(json..<json + record.length)) {
                    leftOut &+= 1
                } else {
                    var event = EventRecord(
                        position: next, receivedAt: times.here(record.delay),
                        firstReceivedAt: times.first(Int(next &- header.firstPosition), record.delay, in: bytes),
                        offset: UInt32(truncatingIfNeeded: json), length: UInt32(truncatingIfNeeded: record.length),
                        origin: origin, index: index)
                    event.leftOutBefore = leftOut
                    leftOut = 0
                    events.append(event)
                }
            }
            let size = RecordLayout.size(record.length)
            bytes.prefetch(from: place + Self.prefetchDistance, count: min(size, Self.prefetchDistance))
            place += size
            next &+= 1
        }
        return true
    }

    /// Records the origin of a batch. A source's name is copied only when it changes.
    private mutating func note(_ header: BatchHeader, _ name: RawSpan, _ host: String?, in origins: inout [Origin]) {
        let last = origins.last ?? origin
        if let last, last.uid == header.uid, last.gid == header.gid, last.pid == header.pid,
            last.host == host, Self.equal(last.source, name)
        {
            if origins.isEmpty { origins.append(last) }
        } else {
            let source = String(decoding: name.array(0..<name.byteCount), as: UTF8.self)
            let new = Origin(source: source, uid: header.uid, gid: header.gid, pid: header.pid, host: host)
            origins.append(new)
            origin = new
        }
    }

    private static func equal(_ text: String, _ bytes: RawSpan) -> Bool {
        var index = 0
        for byte in text.utf8 {
            guard index < bytes.byteCount, bytes.number(UInt8.self, at: index) == byte else { return false }
            index += 1
        }
        return index == bytes.byteCount
    }
}

/// Stands for no selection.
private final class AllEvents: EventSelection {
    let reason = ""
    func mayTake(_ index: EventIndex, _ json: Span<UInt8>) -> Bool { true }
}
