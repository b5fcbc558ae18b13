import Events
import Journal

/// One segment of a journal, damaged in one place, and what must become of it.
package struct DamagedSegment: Sendable {
    package enum Place: String, CaseIterable, Sendable {
        /// One with a seal, between others.
        case sealed
        /// The same without its seal.
        case unsealed
        /// The last one, after an orderly stop.
        case current
        /// The last one, after a crash that came before the durable end was first kept.
        case crashed
    }

    package enum Damage: Sendable, CustomStringConvertible {
        case flip(bit: Int)
        case cut(at: Int)
        /// Zeros from there on.
        case zeros(from: Int)

        package var description: String {
            switch self {
            case .flip(let bit): "bit \(bit % 8) of byte \(bit / 8) flipped"
            case .cut(let place): "cut at byte \(place)"
            case .zeros(let place): "zeros from byte \(place) on"
            }
        }
    }

    private let place: Place
    private let ledger: Ledger
    private let image: DiskImage
    /// The segment that is damaged.
    private let target: UInt64

    package init(_ place: Place) throws(JournalError) {
        self.place = place
        let disk = DiskImage()
        let isLast = place == .current || place == .crashed
        let (ledger, journal) = try Ledger.fill(isLast ? 1 : 3, disk)
        self.ledger = ledger
        target = ledger.segments[isLast ? 0 : 1]
        if place == .crashed {
            image = disk.copy()
            journal.stop()
        } else {
            journal.stop()
            image = disk
        }
        if place == .unsealed {
            image.change(Ledger.path(target)) { bytes in
                for index in Ledger.segmentSize - 128..<Ledger.segmentSize { bytes[index] = 0 }
            }
        }
    }

    // MARK: - What must be

    /// Batches of which the damage takes a byte that counts.
    private func lost(_ damage: Damage) -> [Ledger.Batch] {
        let bytes = image[Ledger.path(target)] ?? []
        return ledger.batches.filter { batch in
            guard batch.segment == target else { return false }
            switch damage {
            case .flip(let bit): return batch.bytes.contains(bit / 8)
            case .cut(let place): return place < batch.bytes.upperBound
            case .zeros(let place):
                return batch.bytes.upperBound > place
                    && bytes[max(place, batch.bytes.lowerBound)..<batch.bytes.upperBound].contains { $0 != 0 }
            }
        }
    }

    /// Whether the damage hits the batch's payload alone.
    private func headerIsWhole(_ batch: Ledger.Batch, _ damage: Damage) -> Bool {
        let header = batch.bytes.lowerBound..<batch.bytes.lowerBound + 64
        return switch damage {
        case .flip(let bit): !header.contains(bit / 8)
        case .cut(let place), .zeros(let place): place >= header.upperBound
        }
    }

    /// What a crash leaves to be told as an interrupted write: the last batches, if nothing whole is
    /// behind them and no header in front says that they were durable.
    private func torn(_ lost: [Ledger.Batch], _ damage: Damage) -> [Ledger.Batch] {
        guard place == .crashed, let last = ledger.batches.last, lost.last?.positions == last.positions else { return [] }
        // Each commit but the first was of one batch, which tells where it begins.
        let told = ledger.batches.last { batch in
            !lost.contains { $0.positions == batch.positions } || headerIsWhole(batch, damage)
        }
        let durable = told.map { ledger.firstCommit.contains($0.positions.lowerBound) ? 0 : $0.positions.lowerBound } ?? 0
        return lost.filter { $0.positions.lowerBound >= durable }
    }

    // MARK: - What is

    /// Damages a copy, opens it twice and inspects it three times.
    /// - Returns: what is wrong about that; nil: nothing.
    package func check(_ damage: Damage) -> String? {
        let disk = image.copy()
        disk.change(Ledger.path(target)) { bytes in
            switch damage {
            case .flip(let bit): bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            case .cut(let place): bytes.removeSubrange(place...)
            case .zeros(let place): for index in place..<bytes.count { bytes[index] = 0 }
            }
        }
        let damaged = disk[Ledger.path(target)] ?? []
        let lost = lost(damage)
        let torn = torn(lost, damage)
        let gaps = Positions(lost.filter { batch in !torn.contains { $0.positions == batch.positions } }.map(\.positions))
        let missing = Positions(lost.map(\.positions))
        let end = torn.first?.positions.lowerBound ?? ledger.end
        do {
            for life in 1...2 {
                try inspect(disk, gaps)
                try open(disk, missing, gaps, end, damaged)
                let now = disk[Ledger.path(target)] ?? []
                // But for the seal nothing is written to a segment that was damaged.
                let isKept = now.count == damaged.count && (now == damaged || now.dropLast(128) == damaged.dropLast(128))
                if !isKept, !(torn.count == lost.count && torn.first?.bytes.lowerBound == 0) {
                    throw Finding("opening it the \(life). time changed the segment")
                }
            }
            try inspect(disk, gaps)
            return nil
        } catch {
            return "\(place), \(damage): \(error)"
        }
    }

    private func inspect(_ disk: DiskImage, _ gaps: Positions) throws {
        let found = try JournalInspector(directory: Ledger.directory, disk: disk).inspect()
        let told = Positions(found.gaps.filter { $0.reason != "interrupted" }.map { $0.first..<$0.end })
        if told != gaps { throw Finding("verify tells \(told), and \(gaps) are missing") }
        if (found.verdict == .damaged) != !gaps.isEmpty, !found.problems.allSatisfy({ $0.contains("was cut off") }) {
            throw Finding("verify says \(found.verdict): \(found.problems)")
        }
    }

    private func open(
        _ disk: DiskImage, _ missing: Positions, _ gaps: Positions, _ end: UInt64, _ damaged: [UInt8]
    ) throws {
        let journal = try Ledger.open(disk)
        defer { journal.stop() }
        if journal.durableEnd != end { throw Finding("the journal ends at \(journal.durableEnd), not at \(end)") }
        try read(journal, missing)
        let statistics = journal.statistics()
        let told = Positions(statistics.gaps.map(\.positions))
        if told != gaps { throw Finding("the journal tells \(told), and \(gaps) are missing") }
        for gap in statistics.gaps {
            if gap.reason != .damaged, gap.reason != .endMissing { throw Finding("it calls that \(gap.reason)") }
            guard !gap.bytes.isEmpty else { continue }
            guard let copy = gap.copy, let bytes = disk[copy] else { throw Finding("no copy of bytes \(gap.bytes)") }
            let range = gap.bytes.clamped(to: 0..<damaged.count)
            if bytes != Array(damaged[range]) { throw Finding("the copy of bytes \(gap.bytes) differs") }
        }
    }

    /// Every event must be there that is not missing, with its bytes, once and in order.
    private func read(_ journal: Journal, _ missing: Positions) throws {
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        var position: UInt64 = 0
        while try reader.read(into: &batch, maximumBytes: 1 << 20) {
            for event in batch.events {
                while missing.contains(position) { position += 1 }
                guard event.position == position, position < ledger.end else {
                    throw Finding("position \(event.position) was read where \(position) was to come")
                }
                if batch.bytes[event.range] != ledger.events[Int(position)][...] {
                    throw Finding("the event at position \(position) has changed")
                }
                position += 1
            }
        }
        while missing.contains(position) { position += 1 }
        if position != ledger.end { throw Finding("position \(position) and what follows were not read") }
    }
}

/// What a case of damage showed.
struct Finding: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
