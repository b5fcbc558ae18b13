import Events
import Journal

/// One segment of a journal that is damaged in one place, and the expected result.
package struct DamagedSegment: Sendable {
    package enum Place: String, CaseIterable, Sendable {
        /// A segment with a seal, between others.
        case sealed
        /// As `sealed`, without its seal.
        case unsealed
        /// The last segment, after an orderly stop.
        case current
        /// The last segment, after a crash before the durable end was first recorded.
        case crashed
    }

    package enum Damage: Sendable, CustomStringConvertible {
        case flip(bit: Int)
        case cut(at: Int)
        /// Zeros from this byte on.
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
    /// The damaged segment.
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

    // MARK: - Expected result

    /// The batches that lose a significant byte.
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

    /// Whether the damage hits only the batch's payload.
    private func headerIsWhole(_ batch: Ledger.Batch, _ damage: Damage) -> Bool {
        let header = batch.bytes.lowerBound..<batch.bytes.lowerBound + 64
        return switch damage {
        case .flip(let bit): !header.contains(bit / 8)
        case .cut(let place), .zeros(let place): place >= header.upperBound
        }
    }

    /// The lost batches that count as an interrupted write after a crash: the last ones, if no whole batch follows them
    /// and no earlier header says that they were durable.
    private func torn(_ lost: [Ledger.Batch], _ damage: Damage) -> [Ledger.Batch] {
        guard place == .crashed, let last = ledger.batches.last, lost.last?.positions == last.positions else {
            return []
        }
        // Each commit except the first held one batch, whose header names the durable end before it.
        let lastWithHeader = ledger.batches.last { batch in
            !lost.contains { $0.positions == batch.positions } || headerIsWhole(batch, damage)
        }
        let durable =
            lastWithHeader.map { ledger.firstCommit.contains($0.positions.lowerBound) ? 0 : $0.positions.lowerBound }
            ?? 0
        return lost.filter { $0.positions.lowerBound >= durable }
    }

    // MARK: - Actual result

    /// Damages a copy, opens it twice and inspects it three times.
    /// - Returns: the first wrong result; nil: all is as expected.
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
        let gaps = Positions(
            lost.filter { batch in !torn.contains { $0.positions == batch.positions } }.map(\.positions))
        let missing = Positions(lost.map(\.positions))
        let end = torn.first?.positions.lowerBound ?? ledger.end
        do {
            for life in 1...2 {
                try inspect(disk, gaps)
                try open(disk, missing, gaps, end, damaged)
                let now = disk[Ledger.path(target)] ?? []
                // Except for the seal, nothing is written to a damaged segment.
                let isKept =
                    now.count == damaged.count && (now == damaged || now.dropLast(128) == damaged.dropLast(128))
                if !isKept, !(torn.count == lost.count && torn.first?.bytes.lowerBound == 0) {
                    throw Finding("opening number \(life) changed the segment")
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
        let reported = Positions(found.gaps.filter { $0.reason != "interrupted" }.map { $0.first..<$0.end })
        if reported != gaps { throw Finding("verify reports \(reported), but \(gaps) are missing") }
        if (found.verdict == .damaged) != !gaps.isEmpty, !found.problems.allSatisfy({ $0.contains("was cut off") }) {
            throw Finding("verify says \(found.verdict): \(found.problems)")
        }
    }

    private func open(
        _ disk: DiskImage, _ missing: Positions, _ gaps: Positions, _ end: UInt64, _ damaged: [UInt8]
    ) throws {
        let journal = try Ledger.open(disk)
        defer { journal.stop() }
        if journal.durableEnd != end { throw Finding("the journal ends at \(journal.durableEnd) instead of \(end)") }
        try read(journal, missing)
        let statistics = journal.statistics()
        let reported = Positions(statistics.gaps.map(\.positions))
        if reported != gaps { throw Finding("the journal reports \(reported), but \(gaps) are missing") }
        for gap in statistics.gaps {
            if gap.reason != .damaged, gap.reason != .endMissing { throw Finding("reported as \(gap.reason)") }
            guard !gap.bytes.isEmpty else { continue }
            guard let copy = gap.copy, let bytes = disk[copy] else { throw Finding("no copy of bytes \(gap.bytes)") }
            let range = gap.bytes.clamped(to: 0..<damaged.count)
            if bytes != Array(damaged[range]) { throw Finding("the copy of bytes \(gap.bytes) differs") }
        }
    }

    /// Checks that every event that is not missing is read once, in order, with its bytes.
    private func read(_ journal: Journal, _ missing: Positions) throws {
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        var position: UInt64 = 0
        while try reader.read(into: &batch, maximumBytes: 1 << 20) {
            for event in batch.events {
                while missing.contains(position) { position += 1 }
                guard event.position == position, position < ledger.end else {
                    throw Finding("position \(event.position) was read instead of \(position)")
                }
                if batch.text(of: event) != ledger.events[Int(position)] {
                    throw Finding("the event at position \(position) has changed")
                }
                position += 1
            }
        }
        while missing.contains(position) { position += 1 }
        if position != ledger.end { throw Finding("position \(position) and later ones were not read") }
    }
}

/// A wrong result of a case.
struct Finding: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
