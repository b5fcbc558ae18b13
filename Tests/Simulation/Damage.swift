import Journal
import Platform

/// A bit of a file that was flipped.
struct FlippedBit: Hashable {
    var inode: Int
    var offset: Int
    var bit: Int
}

// Damage to bytes at rest. Only the damaged events may be lost.
extension World {
    func damageSomething() {
        guard isDamaging, damageLeft > 0, let life else { return }
        _ = life
        let files = disk.files(below: "", nil).filter { $0.path.hasPrefix(World.directory + "/") }
        let segments = files.filter { World.isSegment($0.path) }
        let others = files.filter { file in
            ["/cursors", "/manifest", "/spare"].contains { file.path.hasSuffix($0) } || World.isLiveCursors(file.path)
                || file.path.contains("/dead-letters/")
        }
        let choices = random.percent(70) ? segments : others
        guard !choices.isEmpty else { return }
        let (path, inode) = random.pick(choices)
        guard let (bytes, offset) = change(inode, path, segments) else { return }
        damageLeft -= 1
        noteDamage(path, inode, bytes, offset)
        inode.damage(bytes, at: offset)
        damagedInodes.insert(inode.number)
    }

    /// - Returns: the new bytes and their offset.
    private func change(
        _ inode: Inode, _ path: String, _ segments: [(path: String, inode: Inode)]
    ) -> (bytes: [UInt8], offset: Int)? {
        let size = inode.durable.count
        // The bytes must be at rest: on the disk, without pending writes.
        guard size > 0, !inode.isDirty, inode.current.count == size else { return nil }
        switch random.below(4) {
        case 0, 1:
            // Mostly in the used part of the file.
            let used = (inode.durable.lastIndex { $0 != 0 } ?? 0) + 1
            let offset = random.below(random.percent(90) ? used : size)
            let bit = random.below(8)
            // The same flip again would repair the byte, and bring back an event that was reported as lost.
            guard flippedBits.insert(FlippedBit(inode: inode.number, offset: offset, bit: bit)).inserted else {
                return nil
            }
            faults.note(.bitFlip)
            return ([inode.durable[offset] ^ (1 << UInt8(bit))], offset)
        case 2:
            let history = inode.history + (World.isLiveCursors(path) ? disk.freedSectors : [])
            guard !history.isEmpty else { return nil }
            let (offset, bytes) = random.pick(history)
            guard offset + bytes.count <= size else { return nil }
            faults.note(.oldSector)
            return (bytes, offset)
        default:
            return misdirected(inode, path, segments)
        }
    }

    /// Sectors from another place: another segment, another offset, or another journal's file of the same name.
    private func misdirected(
        _ inode: Inode, _ path: String, _ segments: [(path: String, inode: Inode)]
    ) -> (bytes: [UInt8], offset: Int)? {
        guard World.isSegment(path) else { return nil }
        if path.hasSuffix("/" + String(repeating: "0", count: 20) + ".seg"), !earlier.isEmpty, random.percent(50) {
            return stale(inode)
        }
        var sources = segments.map(\.inode.durable) + disk.graveyard.map(\.bytes)
        sources.removeAll { $0.count < 2 * Inode.sector }
        guard !sources.isEmpty else { return nil }
        let source = random.pick(sources)
        let used = (source.dropLast(128).lastIndex { $0 != 0 } ?? 0) / Inode.sector + 1
        let first = random.below(used) * Inode.sector
        let count = min(random.pick([1, 8, 24, 64]) * Inode.sector, source.count - first)
        let own = (inode.durable.dropLast(128).lastIndex { $0 != 0 } ?? 0) / Inode.sector + 1
        let offset = random.percent(50) ? first : random.below(own + 1) * Inode.sector
        guard offset + count <= inode.durable.count else { return nil }
        faults.note(.misdirectedSector)
        return (Array(source[first..<first + count]), offset)
    }

    /// Sectors of an earlier journal from the same place of a file with the same name.
    private func stale(_ inode: Inode) -> (bytes: [UInt8], offset: Int)? {
        let used = (earlier.dropLast(128).lastIndex { $0 != 0 } ?? 0) / Inode.sector + 1
        let first = random.below(used)
        let end = min(first + random.pick([4, 8, 40]), used)
        guard end * Inode.sector <= inode.durable.count - 128 else { return nil }
        faults.note(.misdirectedSector)
        return (Array(earlier[first * Inode.sector..<end * Inode.sector]), first * Inode.sector)
    }

    func noteDamage(_ path: String, _ inode: Inode, _ bytes: [UInt8], _ offset: Int) {
        trace.note("damage", offset, "\(bytes.count) bytes of \(path)")
        if path.contains("/dead-letters/") {
            damagedLetters.formUnion(path.split(separator: "/").dropLast().suffix(1).map(String.init))
        } else if path.hasSuffix(".seg") {
            segmentMaps[inode.number, default: []].append(SegmentMap(inode.current, segmentSize: options.segmentSize))
            let changed = bytes.indices.filter {
                bytes[$0] != inode.current[offset + $0] || bytes[$0] != inode.durable[offset + $0]
            }
            guard let first = changed.first, let last = changed.last else { return }
            for map in segmentMaps[inode.number] ?? [] {
                for positions in map.positions(in: offset + first..<offset + last + 1) {
                    ledger.mark(positions, .damaged)
                }
            }
        } else if path.hasSuffix("/cursors") {
            if damagedCursors?.inode != inode.number { damagedCursors = (inode.number, inode.current) }
        } else if World.isLiveCursors(path) {
            damagedLive = true
        } else if path.hasSuffix("/manifest") {
            if damagedManifest?.inode != inode.number { damagedManifest = (inode.number, inode.current) }
        }
    }
}
