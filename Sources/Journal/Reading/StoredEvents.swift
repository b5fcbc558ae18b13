import Events
import Platform

/// Reads the events of a journal's files for inspection. It takes no lock and writes nothing, so it can be used while a
/// daemon writes the files. It skips damaged batches. It is slow; delivery uses `JournalReader`.
package struct StoredEvents: Sendable {
    /// The 16 bytes from which message ids are derived.
    package let journal: [UInt8]
    let directory: String
    let disk: any Disk
    let uuid: JournalUUID
    private let starts: [String: UInt64]

    /// - Throws: if `directory` holds no readable journal.
    package init(directory: String, disk: any Disk) throws(JournalError) {
        guard let manifest = try Manifest.read(in: directory, disk) else {
            throw JournalError(
                .inconsistent,
                "journal: no journal in \(directory): the file `\(Manifest.name)` is missing; check the directory")
        }
        self.directory = directory
        self.disk = disk
        uuid = manifest.uuid
        starts = manifest.starts
        journal = manifest.uuid.bytes
    }

    /// The position at which a destination started; 0 if the journal does not know it.
    package func start(of destination: String) -> UInt64 { starts[destination] ?? 0 }

    /// A batch with only the event at a position; nil if the event is not there (removed, or not written yet) or
    /// damaged.
    package func event(at position: UInt64) throws(JournalError) -> EventBatch? {
        guard let batch = try makeReader(from: position).next(),
            let event = batch.events.first(where: { $0.position == position })
        else { return nil }
        return Self.batch(of: event, in: batch)
    }

    /// A batch with only the newest event for which `matches` returns true; nil if there is no such event.
    package func last(where matches: (EventRecord, borrowing EventBatch) -> Bool) throws(JournalError) -> EventBatch? {
        for segment in try segments().reversed() {
            var found: EventBatch?
            var batches = try batches(of: segment)
            while let batch = try batches?.next() {
                if let event = batch.events.last(where: { matches($0, batch) }) {
                    found = Self.batch(of: event, in: batch)
                }
            }
            if let found { return found }
        }
        return nil
    }

    /// - Parameter position: the first position wanted.
    package func makeReader(from position: UInt64) throws(JournalError) -> Reader {
        let segments = try segments()
        let first = segments.lastIndex { $0 <= position } ?? 0
        return Reader(self, segments[min(first, segments.count)...], from: position)
    }

    /// Returns whole batches in order. One thread at a time.
    package final class Reader {
        private let stored: StoredEvents
        private var segments: ArraySlice<UInt64>
        private var batches: Batches?
        private var position: UInt64

        fileprivate init(_ stored: StoredEvents, _ segments: ArraySlice<UInt64>, from position: UInt64) {
            self.stored = stored
            self.segments = segments
            self.position = position
        }

        /// The next batch with a wanted event, without the events before that; nil if there are no more now.
        package func next() throws(JournalError) -> EventBatch? {
            while true {
                if batches == nil {
                    guard let segment = segments.popFirst() else { return nil }
                    batches = try stored.batches(of: segment)
                }
                guard var batch = try batches?.next() else {
                    batches = nil
                    continue
                }
                batch.events.removeAll { $0.position < position }
                if batch.events.isEmpty { continue }
                position = batch.next
                return batch
            }
        }
    }

    private static func batch(of event: EventRecord, in batch: borrowing EventBatch) -> EventBatch {
        var single = EventBatch()
        single.ownBytes = batch.text(of: event)
        single.origins = batch.origins
        single.next = event.position &+ 1
        var event = event
        event.offset = 0
        single.events = [event]
        return single
    }

    // MARK: Files

    private func segments() throws(JournalError) -> [UInt64] {
        do throws(SystemError) {
            return try disk.list(directory).compactMap(Segment.position(ofName:)).sorted()
        } catch {
            throw JournalError("list the journal", error)
        }
    }

    /// nil if retention has removed the segment meanwhile.
    private func batches(of segment: UInt64) throws(JournalError) -> Batches? {
        do throws(SystemError) {
            let path = directory + "/" + Segment.name(segment)
            guard try disk.status(path) != nil else { return nil }
            let file = try disk.open(path, .readOnly)
            let seed = ChecksumSeed(uuid: uuid, firstPosition: segment)
            return Batches(walker: SegmentWalker(file, seed: seed, limit: try file.size(), verifying: true))
        } catch {
            throw JournalError("read the journal", error)
        }
    }

    /// The whole batches of a segment, in order.
    private struct Batches {
        var walker: SegmentWalker

        mutating func next() throws(JournalError) -> EventBatch? {
            do throws(SystemError) {
                while true {
                    switch try walker.next() {
                    case .end: return nil
                    case .hole, .batch(_, offset: _, intact: false): continue
                    case .batch(let header, let offset, intact: true):
                        guard header.kind == BatchHeader.Kind.events else { continue }
                        return StoredEvents.decode(header, walker.payload(of: header, at: offset))
                    }
                }
            } catch {
                throw JournalError("read the journal", error)
            }
        }
    }

    private static func decode(_ header: BatchHeader, _ payload: RawSpan) -> EventBatch {
        var batch = EventBatch()
        batch.ownBytes = payload.array(0..<payload.byteCount)
        batch.next = header.endPosition
        let name = Int(header.sourceLength)
        guard name.paddedTo8 <= payload.byteCount else { return batch }
        let times = ReceiveTimes(header, payload)
        batch.origins = [
            Origin(
                source: String(decoding: batch.ownBytes[..<name], as: UTF8.self), uid: header.uid, gid: header.gid,
                pid: header.pid, host: times.host)
        ]
        var place = name.paddedTo8
        for number in 0..<UInt64(header.count) {
            guard let record = RecordLayout.read(payload, at: place, end: payload.byteCount) else { break }
            // An event kind of a later version is skipped.
            if let kind = EventKind(rawValue: record.kind) {
                batch.events.append(
                    EventRecord(
                        position: header.firstPosition &+ number,
                        receivedAt: times.here(record.delay),
                        firstReceivedAt: times.first(Int(number), record.delay, in: payload),
                        offset: UInt32(truncatingIfNeeded: place + RecordLayout.headerSize),
                        length: UInt32(truncatingIfNeeded: record.length), origin: 0,
                        index: RecordLayout.index(
                            payload, at: place, kind: kind, flags: record.flags, length: record.length)))
            }
            place += RecordLayout.size(record.length)
        }
        return batch
    }
}
