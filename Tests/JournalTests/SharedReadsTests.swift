import Events
import Platform
import Synchronization
import Testing

@testable import Journal

/// Readers that lag at the same place read from the disk once.
@Suite struct SharedReadsTests {
    private static let events = 8000
    private static let segmentSize = 2 << 20

    private let disk = MemoryDisk()
    private let rig: Rig

    init() { rig = Rig(disk) }

    private var options: JournalOptions {
        var options = Rig.small
        options.segmentSize = Self.segmentSize
        // Four pieces are kept.
        options.memoryBytes = 8 << 20
        return options
    }

    /// A journal whose events are no longer in memory, most of them in sealed segments.
    private func reopened() throws -> Journal {
        let journal = try rig.open(options)
        for first in stride(from: 0, to: Self.events, by: 200) {
            try append(journal, (first..<first + 200).map { event($0, size: 1000) })
        }
        journal.stop()
        let again = try rig.open(options)
        // What recovery reads does not count.
        _ = disk.takeBytesRead()
        return again
    }

    /// The bytes of the sealed segments.
    private var sealed: Int { (rig.segmentNames.count - 1) * Self.segmentSize }

    /// Reads once.
    /// - Returns: false at the end.
    private func step(_ reader: JournalReader, _ batch: inout EventBatch, into found: inout [String]) throws -> Bool {
        guard try reader.read(into: &batch, maximumBytes: 100_000) else { return false }
        for event in batch.events { found.append(String(decoding: batch.text(of: event), as: UTF8.self)) }
        return true
    }

    private var expected: [String] { (0..<Self.events).map { event($0, size: 1000) } }

    @Test func `readers at one place read each byte from the disk once`() throws {
        let journal = try reopened()
        let readers = (0..<10).map { _ in journal.makeReader(from: 0) }
        var found = [[String]](repeating: [], count: readers.count)
        var batch = EventBatch()
        // Each is at another place of the same piece, or of the next.
        for number in readers.indices {
            for _ in 0..<number where try !step(readers[number], &batch, into: &found[number]) { break }
        }
        var isOver = false
        while !isOver {
            isOver = true
            for number in readers.indices where try step(readers[number], &batch, into: &found[number]) {
                isOver = false
            }
        }
        for texts in found { #expect(texts == expected) }
        // The first reader was alone for some reads; the last segment is not sealed, and each reads it for itself.
        let open = readers.count * Self.segmentSize
        #expect(disk.takeBytesRead() < sealed * 3 + open)
        #expect(sealed > 2 * Self.segmentSize)
        journal.stop()
    }

    @Test func `readers that were in a segment before it was sealed share it, too`() throws {
        var journal = try rig.open(options)
        let first = (0..<1500).map { event($0, size: 1000) }
        for start in stride(from: 0, to: first.count, by: 100) {
            try append(journal, Array(first[start..<start + 100]))
        }
        journal.stop()
        // Nothing of it is in memory then.
        journal = try rig.open(options)
        let readers = (0..<10).map { _ in journal.makeReader(from: 0) }
        var found = [[String]](repeating: [], count: readers.count)
        var batch = EventBatch()
        for number in readers.indices { #expect(try step(readers[number], &batch, into: &found[number])) }
        let second = (1500..<2500).map { event($0, size: 1000) }
        for start in stride(from: 0, to: second.count, by: 100) {
            try append(journal, Array(second[start..<start + 100]))
        }
        #expect(rig.segmentNames.count == 2)
        _ = disk.takeBytesRead()
        var isOver = false
        while !isOver {
            isOver = true
            for number in readers.indices where try step(readers[number], &batch, into: &found[number]) {
                isOver = false
            }
        }
        for texts in found { #expect(texts == first + second) }
        // The first reader was alone for a moment.
        #expect(disk.takeBytesRead() < 2 * Self.segmentSize)
        journal.stop()
    }

    @Test func `a reader that is alone shares nothing, and memory is given back`() throws {
        let journal = try reopened()
        var batch = EventBatch()
        do {
            let readers = (0..<3).map { _ in journal.makeReader(from: 0) }
            var found: [String] = []
            for reader in readers { _ = try step(reader, &batch, into: &found) }
            #expect(journal.shared.bytes > 0 && journal.shared.bytes <= options.sharedBytes)
        }
        #expect(journal.shared.bytes == 0)
        let reader = journal.makeReader(from: 0)
        var found: [String] = []
        while try step(reader, &batch, into: &found) { #expect(journal.shared.bytes == 0) }
        #expect(found == expected)
        journal.stop()
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `readers far from each other read for themselves, and all get everything`(seed: UInt64) throws {
        let journal = try reopened()
        let readers = (0..<4).map { _ in journal.makeReader(from: 0) }
        var found = [[String]](repeating: [], count: readers.count)
        var batch = EventBatch()
        var random = Rig.Generator(state: seed)
        var left = Set(readers.indices)
        while let number = left.sorted().randomElement(using: &random) {
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                if try !step(readers[number], &batch, into: &found[number]) {
                    left.remove(number)
                    break
                }
                #expect(journal.shared.bytes <= options.sharedBytes)
            }
        }
        for texts in found { #expect(texts == expected) }
        journal.stop()
    }

    @Test func `readers on many threads get everything, in order`() throws {
        let journal = try reopened()
        let results = Mutex<[[String]]>([])
        let threads = (0..<8).map { number in
            WorkerThread(name: "reader \(number)") {
                let found = (try? readAll(journal, maximumBytes: 50_000 + number * 30_000).map(\.json)) ?? []
                results.withLock { $0.append(found) }
            }
        }
        for thread in threads { thread.join() }
        for found in results.withLock({ $0 }) { #expect(found == expected) }
        #expect(journal.shared.bytes == 0)
        journal.stop()
    }

    @Test(arguments: [false, true])
    func `damage is found by each reader, and a shared read that fails is made by each`(fails: Bool) throws {
        let journal = try reopened()
        let path = rig.path(try #require(rig.segmentNames.first))
        // In the middle of an event.
        try rig.overwrite(path, [UInt8](repeating: 0x58, count: 10), at: 700_000)
        let readers = (0..<3).map { _ in journal.makeReader(from: 0) }
        var found = [[String]](repeating: [], count: readers.count)
        var batch = EventBatch()
        for number in readers.indices { _ = try step(readers[number], &batch, into: &found[number]) }
        if fails { disk.fail("pread", path, code: 5) }
        var isOver = false
        while !isOver {
            isOver = true
            for number in readers.indices where try step(readers[number], &batch, into: &found[number]) {
                isOver = false
            }
        }
        let whole = Set(expected)
        for texts in found {
            // One batch is lost, and nothing else.
            #expect(texts == found[0] && (Self.events - 200..<Self.events).contains(texts.count))
            #expect(whole.isSuperset(of: texts))
        }
        journal.stop()
    }
}
