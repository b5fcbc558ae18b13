/// A file's bytes: those that the kernel shows, those on the disk, and the pending changes.
///
/// Until a sync returns, writes reach the disk in sectors of 512 bytes, separately and in any order. Sizes reach
/// it in the order of their changes. A failed sync persists some of the changes and marks all pages clean: the
/// kernel still shows bytes that will never be written.
final class Inode {
    enum Change {
        case write(Int, [UInt8])
        case resize(Int)
        /// The allocated space reads as zeros whatever it held before.
        case allocate(Int)
    }

    static let sector = 512

    let number: Int
    private(set) var current: [UInt8] = []
    private(set) var durable: [UInt8] = []
    private var pending: [Change] = []
    /// Whether the kernel may show bytes that are neither on the disk nor pending.
    private(set) var hasLost = false
    /// The end of the bytes that a sync made durable and that must never change. 0 after damage.
    private(set) var settledEnd = 0
    private var writtenEnd = 0
    /// The file that holds the lock.
    weak var owner: SimulatedFile?
    /// The old contents of overwritten sectors.
    private(set) var history: [(offset: Int, bytes: [UInt8])] = []

    init(number: Int) { self.number = number }

    var isDirty: Bool { !pending.isEmpty }

    /// The sectors on the disk that are not all zeros.
    var sectors: [(offset: Int, bytes: [UInt8])] {
        stride(from: 0, to: durable.count - Self.sector + 1, by: Self.sector).map { offset in
            (offset, Array(durable[offset..<offset + Self.sector]))
        }.filter { $0.bytes.contains { $0 != 0 } }
    }

    func write(_ bytes: [UInt8], at offset: Int) {
        Self.put(bytes, at: offset, in: &current)
        pending.append(.write(offset, bytes))
        let limit = current.count - 128
        let end = offset + Memory.usedEnd(bytes, 0..<max(0, min(offset + bytes.count, limit) - offset))
        if end > offset { writtenEnd = max(writtenEnd, end) }
    }

    func resize(to size: Int) {
        Self.resize(&current, to: size)
        pending.append(.resize(size))
        settledEnd = min(settledEnd, size)
        writtenEnd = min(writtenEnd, size)
    }

    func allocate(_ size: Int) {
        Self.resize(&current, to: max(size, current.count))
        pending.append(.allocate(size))
    }

    /// Whether a write would change durable bytes.
    func isSettled(_ bytes: [UInt8], at offset: Int) -> Bool {
        let end = min(settledEnd, offset + bytes.count)
        guard offset < end else { return false }
        return !Memory.areEqual(bytes, durable, at: offset, count: end - offset)
    }

    func sync(_ random: inout Generator) {
        for change in pending {
            if case .write(let offset, _) = change, random.oneIn(3) { remember(offset) }
            Self.apply(change, to: &durable)
        }
        pending = []
        settledEnd = writtenEnd
    }

    func failSync(_ random: inout Generator) {
        persistSome(&random, recycled: nil)
        pending = []
        hasLost = true
        writtenEnd = settledEnd
    }

    /// Persists some pending changes: the kernel writes them back on its own, or the power fails.
    /// - Parameter recycled: the old contents of blocks that belonged to another file.
    func persistSome(_ random: inout Generator, recycled: [UInt8]?) {
        guard !pending.isEmpty else { return }
        let sizes = random.pick([0, pending.count, random.below(pending.count + 1)])
        let share = random.pick([0, 50, 90, 100])
        let unit = random.pick([Self.sector, Self.sector, 8 * Self.sector])
        var size = durable.count
        let before = size
        for (index, change) in pending.enumerated() {
            switch change {
            case .resize(let to):
                guard index < sizes else { continue }
                size = to
                Self.resize(&durable, to: to)
            case .allocate(let to):
                if index < sizes { size = max(size, to) }
            case .write(let offset, let bytes):
                if index < sizes { size = max(size, offset + bytes.count) }
                var place = offset
                while place < offset + bytes.count {
                    let end = min((place / unit + 1) * unit, offset + bytes.count)
                    if random.percent(share) {
                        Self.put(bytes[(place - offset)..<(end - offset)], at: place, in: &durable)
                    } else if let recycled, place >= before, end <= recycled.count, index < sizes {
                        Self.put(recycled[place..<end], at: place, in: &durable)
                    }
                    place = end
                }
            }
        }
        Self.resize(&durable, to: size)
    }

    /// The machine restarts: only the bytes on the disk remain.
    func crash() {
        current = durable
        pending = []
        hasLost = false
        writtenEnd = settledEnd
    }

    /// The kernel evicts the pages, so later reads return the bytes on the disk.
    func evict() {
        guard pending.isEmpty, hasLost else { return }
        let size = current.count
        current = durable
        Self.resize(&current, to: size)
        hasLost = false
    }

    /// Changes bytes at rest.
    func damage(_ bytes: [UInt8], at offset: Int) {
        Self.put(bytes, at: offset, in: &durable)
        Self.put(bytes, at: offset, in: &current)
        settledEnd = 0
        writtenEnd = 0
    }

    private func remember(_ offset: Int) {
        let start = offset / Self.sector * Self.sector
        guard start + Self.sector <= durable.count else { return }
        let old = Array(durable[start..<start + Self.sector])
        guard old.contains(where: { $0 != 0 }) else { return }
        history.append((start, old))
        if history.count > 4 { history.removeFirst() }
    }

    private static func apply(_ change: Change, to bytes: inout [UInt8]) {
        switch change {
        case .write(let offset, let piece): put(piece, at: offset, in: &bytes)
        case .resize(let size): resize(&bytes, to: size)
        case .allocate(let size): resize(&bytes, to: max(size, bytes.count))
        }
    }

    private static func resize(_ bytes: inout [UInt8], to size: Int) {
        if size < bytes.count {
            bytes.removeLast(bytes.count - size)
        } else if size > bytes.count {
            bytes.append(contentsOf: repeatElement(0, count: size - bytes.count))
        }
    }

    private static func put(_ piece: some Collection<UInt8>, at offset: Int, in bytes: inout [UInt8]) {
        if bytes.count == offset {
            bytes.append(contentsOf: piece)
            return
        }
        if bytes.count < offset + piece.count { resize(&bytes, to: offset + piece.count) }
        bytes.replaceSubrange(offset..<offset + piece.count, with: piece)
    }
}
