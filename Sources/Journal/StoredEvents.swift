import Events
import Platform

/// The events of a journal's files, for looking at. It takes no lock and writes nothing, so that it can
/// be used beside the daemon that writes them; damaged batches are passed over. Slow: what delivers
/// events is `JournalReader`.
package struct StoredEvents {
    /// The 16 bytes that message ids derive from.
    package let journal: [UInt8]
    private let directory: String
    private let disk: any Disk
    private let uuid: JournalUUID

    /// - Throws: there is no journal that can be read in `directory`.
    package init(directory: String, disk: any Disk) throws(JournalError) {
        guard let manifest = try Manifest.read(in: directory, disk) else {
            throw JournalError(.inconsistent, "journal: there is no journal in \(directory): it has no file `\(Manifest.name)`")
        }
        self.directory = directory
        self.disk = disk
        uuid = manifest.uuid
        journal = manifest.uuid.bytes
    }

    /// A batch of the one event at a position; nil: it is not there (any more, or yet), or is damaged.
    package func event(at position: UInt64) throws(JournalError) -> EventBatch? {
        guard let segment = try segments().last(where: { $0 <= position }) else { return nil }
        var found: EventBatch?
        try walk(segment) { batch in
            guard let event = batch.events.first(where: { $0.position == position }) else { return batch.next <= position }
            found = Self.batch(of: event, in: batch)
            return false
        }
        return found
    }

    /// A batch of the newest event that `matches` takes; nil: there is none.
    package func last(where matches: (EventRecord, borrowing EventBatch) -> Bool) throws(JournalError) -> EventBatch? {
        for segment in try segments().reversed() {
            var found: EventBatch?
            try walk(segment) { batch in
                if let event = batch.events.last(where: { matches($0, batch) }) { found = Self.batch(of: event, in: batch) }
                return true
            }
            if let found { return found }
        }
        return nil
    }

    private static func batch(of event: EventRecord, in batch: borrowing EventBatch) -> EventBatch {
        var single = EventBatch()
        single.bytes = Array(batch.bytes[event.range])
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

    /// Gives a segment's whole batches to `body`, in order, until it says false.
    private func walk(_ segment: UInt64, _ body: (borrowing EventBatch) -> Bool) throws(JournalError) {
        do throws(SystemError) {
            let path = directory + "/" + Segment.name(segment)
            // Retention may have been faster.
            guard try disk.status(path) != nil else { return }
            let file = try disk.open(path, .readOnly)
            let seed = ChecksumSeed(uuid: uuid, firstPosition: segment)
            var walker = SegmentWalker(file, seed: seed, limit: try file.size(), verifying: true)
            while true {
                switch try walker.next() {
                case .end: return
                case .hole, .batch(_, offset: _, intact: false): continue
                case .batch(let header, let offset, intact: true):
                    guard header.kind == BatchHeader.Kind.events else { continue }
                    if !body(Self.decode(header, walker.payload(of: header, at: offset))) { return }
                }
            }
        } catch {
            throw JournalError("read the journal", error)
        }
    }

    private static func decode(_ header: BatchHeader, _ payload: RawSpan) -> EventBatch {
        var batch = EventBatch()
        batch.bytes = payload.array(0..<payload.byteCount)
        batch.next = header.endPosition
        let name = Int(header.sourceLength)
        guard name.paddedTo8 <= payload.byteCount else { return batch }
        batch.origins = [
            Origin(source: String(decoding: batch.bytes[..<name], as: UTF8.self), uid: header.uid, gid: header.gid, pid: header.pid)
        ]
        var place = name.paddedTo8
        for number in 0..<UInt64(header.count) {
            guard let record = RecordLayout.read(payload, at: place, end: payload.byteCount) else { break }
            // A kind of a later version is passed over.
            if let kind = EventKind(rawValue: record.kind) {
                batch.events.append(
                    EventRecord(
                        position: header.firstPosition &+ number,
                        receivedAt: header.receivedAt &+ Int64(record.delay) &* 1_000_000,
                        offset: UInt32(truncatingIfNeeded: place + RecordLayout.headerSize),
                        length: UInt32(truncatingIfNeeded: record.length), origin: 0,
                        index: RecordLayout.index(payload, at: place, kind: kind, flags: record.flags, length: record.length)))
            }
            place += RecordLayout.size(record.length)
        }
        return batch
    }
}
