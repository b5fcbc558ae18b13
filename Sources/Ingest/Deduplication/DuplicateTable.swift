import Platform

/// The message ids of a source's events within a window of time. Pure.
///
/// Ids are kept in the order of their events, in a ring. The oldest leave when they are older than the window or, if
/// the memory is full, earlier. An index with open addressing finds an id in the ring. Each id takes 32 bytes: its
/// hash, its time and the end of its event in the ring, and two places in the index, so that half of the index is free.
///
/// Memory for the ring grows in chunks. The memory of the index is there from the start.
struct DuplicateTable: Sendable {
    private struct Entry: BitwiseCopyable {
        var hash: MessageIDHash
        /// Milliseconds since `base`.
        var time: UInt32
        /// The lowest bits of the journal position behind the event.
        var end: UInt32
    }

    /// Bytes of memory that each id takes.
    static let bytesPerID = MemoryLayout<Entry>.stride + placesPerID * MemoryLayout<UInt32>.stride
    private static let placesPerID = 2
    private static let chunkBits = 12
    private static let longestTime = Int64(UInt32.max)

    let window: Duration
    /// The most ids.
    let capacity: Int
    /// How many ids are there.
    private(set) var count = 0
    /// Ids that left before the window was over, because the memory was full.
    private(set) var forgottenEarly: UInt64 = 0

    /// The number of the oldest entry in the ring.
    private var oldest = 0
    private var chunks: [[Entry]] = []
    /// For each place, an entry's number in the ring plus 1; 0: the place is free.
    private var index: [UInt32]
    /// The monotonic time that entries' times count from, in milliseconds.
    private var base: Int64
    /// The time of the newest entry. Times never decrease, so that the ring is in their order.
    private var last: UInt32 = 0
    /// The highest end so far.
    private var latestEnd: UInt64 = 0

    /// - Parameters:
    ///   - window: at most 30 days.
    ///   - memory: bytes.
    init(window: Duration, memory: Int, at now: Instant) {
        self.window = min(max(window, .milliseconds(1)), .seconds(30 * 86_400))
        capacity = min(max(memory / Self.bytesPerID, 1), Int(UInt32.max / 4))
        index = Array(repeating: 0, count: capacity * Self.placesPerID)
        base = Self.milliseconds(now).saturatingSubtract(Self.milliseconds(self.window))
    }

    // MARK: Ids

    /// The journal position behind the event with this id, or a higher one that is not above the latest; nil: there is
    /// no such event within the window.
    mutating func end(of hash: MessageIDHash, at now: Instant) -> UInt64? {
        expire(at: now)
        guard let place = place(of: hash) else { return nil }
        let entry = entry(Int(index[place]) - 1)
        // The lowest bits are enough: the end is the highest one with them that is not above the latest.
        let distance = UInt64(UInt32(truncatingIfNeeded: latestEnd) &- entry.end)
        return latestEnd >= distance ? latestEnd - distance : latestEnd
    }

    /// Adds an id that is not there.
    /// - Parameter time: when its event was received. An earlier time than that of the id before counts as the same.
    mutating func insert(_ hash: MessageIDHash, end: UInt64, time: Instant) {
        if count == capacity {
            forgottenEarly &+= 1
            removeOldest()
        }
        last = max(last, relative(time))
        latestEnd = max(latestEnd, end)
        let number = (oldest + count) % capacity
        let entry = Entry(hash: hash, time: last, end: UInt32(truncatingIfNeeded: end))
        let chunk = number >> Self.chunkBits
        if chunk == chunks.count {
            chunks.append([])
            chunks[chunk].reserveCapacity(1 << Self.chunkBits)
        }
        let place = number & (1 << Self.chunkBits - 1)
        if place == chunks[chunk].count { chunks[chunk].append(entry) } else { chunks[chunk][place] = entry }
        count += 1
        index[freePlace(for: hash)] = UInt32(number + 1)
    }

    /// Sets the end of the newest ids.
    mutating func setEnd(ofNewest newest: Int, to end: UInt64) {
        latestEnd = max(latestEnd, end)
        for back in 0..<min(newest, count) {
            let number = (oldest + count - 1 - back) % capacity
            chunks[number >> Self.chunkBits][number & (1 << Self.chunkBits - 1)].end = UInt32(truncatingIfNeeded: end)
        }
    }

    mutating func removeNewest(_ newest: Int) {
        for _ in 0..<min(newest, count) {
            free(entryNumber: (oldest + count - 1) % capacity)
            count -= 1
        }
    }

    /// Adds the ids of another table that are not here. They are newer than all here.
    mutating func append(_ newer: DuplicateTable, at now: Instant) {
        for offset in 0..<newer.count {
            let entry = newer.entry((newer.oldest + offset) % newer.capacity)
            guard place(of: entry.hash) == nil else { continue }
            let distance = UInt64(UInt32(truncatingIfNeeded: newer.latestEnd) &- entry.end)
            insert(
                entry.hash, end: newer.latestEnd.saturatingSubtract(distance),
                time: Instant(nanoseconds: newer.base.saturatingAdd(Int64(entry.time)).saturatingMultiply(1_000_000)))
        }
        expire(at: now)
    }

    // MARK: Time

    /// Removes ids that are older than the window.
    mutating func expire(at now: Instant) {
        guard count > 0 else { return }
        if Self.milliseconds(now).saturatingSubtract(base) > Self.longestTime { rebase(at: now) }
        let limit = Self.milliseconds(now).saturatingSubtract(base).saturatingSubtract(Self.milliseconds(window))
        while count > 0, Int64(entry(oldest).time) <= limit { removeOldest() }
    }

    /// How long ago the oldest id was received; nil if there is none.
    func age(at now: Instant) -> Duration? {
        guard count > 0 else { return nil }
        let age = Self.milliseconds(now).saturatingSubtract(base).saturatingSubtract(Int64(entry(oldest).time))
        return .milliseconds(max(0, age))
    }

    /// Moves `base` forward, so that times fit into 32 bits. Rare: at most once in two weeks.
    private mutating func rebase(at now: Instant) {
        let new = Self.milliseconds(now).saturatingSubtract(Self.milliseconds(window))
        let shift = new.saturatingSubtract(base)
        while count > 0, Int64(entry(oldest).time) <= shift { removeOldest() }
        for offset in 0..<count {
            let number = (oldest + offset) % capacity
            let (chunk, place) = (number >> Self.chunkBits, number & (1 << Self.chunkBits - 1))
            chunks[chunk][place].time = UInt32(clamping: Int64(chunks[chunk][place].time) - shift)
        }
        last = count == 0 ? 0 : UInt32(clamping: Int64(last) - shift)
        base = new
    }

    private func relative(_ time: Instant) -> UInt32 {
        UInt32(clamping: Self.milliseconds(time).saturatingSubtract(base))
    }

    private static func milliseconds(_ time: Instant) -> Int64 { time.nanoseconds / 1_000_000 }
    private static func milliseconds(_ time: Duration) -> Int64 { time.inNanoseconds / 1_000_000 }

    // MARK: The ring and its index

    private func entry(_ number: Int) -> Entry { chunks[number >> Self.chunkBits][number & (1 << Self.chunkBits - 1)] }

    private mutating func removeOldest() {
        free(entryNumber: oldest)
        oldest = (oldest + 1) % capacity
        count -= 1
    }

    /// The place at which the search for a hash begins.
    private func home(_ hash: MessageIDHash) -> Int { Int(hash.low.multipliedFullWidth(by: UInt64(index.count)).high) }

    private func after(_ place: Int) -> Int { place + 1 == index.count ? 0 : place + 1 }

    private func place(of hash: MessageIDHash) -> Int? {
        var place = home(hash)
        while index[place] != 0 {
            if entry(Int(index[place]) - 1).hash == hash { return place }
            place = after(place)
        }
        return nil
    }

    private func freePlace(for hash: MessageIDHash) -> Int {
        var place = home(hash)
        while index[place] != 0 { place = after(place) }
        return place
    }

    /// Removes an entry from the index. The entries behind it that could not have their own place move up, so that no
    /// search ends early.
    private mutating func free(entryNumber number: Int) {
        var hole = home(entry(number).hash)
        while index[hole] != UInt32(number + 1) { hole = after(hole) }
        var next = after(hole)
        while index[next] != 0 {
            let home = home(entry(Int(index[next]) - 1).hash)
            if distance(from: home, to: next) >= distance(from: hole, to: next) {
                index[hole] = index[next]
                hole = next
            }
            next = after(next)
        }
        index[hole] = 0
    }

    private func distance(from start: Int, to end: Int) -> Int {
        end >= start ? end - start : end - start + index.count
    }
}
