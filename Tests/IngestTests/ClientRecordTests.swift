import Testing

@testable import Ingest

/// A process is killed at every point of what it does with one client. The next one must go on at the first byte that is
/// not in the journal, and find all bytes from there on.
@Suite struct ClientRecordTests {
    /// A client's socket, its record and its ring, as they survive the process. After `steps` stores and calls, the
    /// process is dead: nothing has an effect any more.
    private final class World: RecordWords {
        /// Bytes of the ring, at first and at most.
        static let size = 40
        static let largest = 160
        var steps: Int
        var words = [UInt64](repeating: 0, count: ClientRecord.size)
        var ring = [UInt8](repeating: 0, count: World.largest)
        /// What the client has sent, and how much of it was read.
        var sent = 0
        var read = 0
        var peekOffset = -1
        /// The journal: the offset behind each event that was appended.
        var journal: [UInt64] = []
        var committed = 0

        init(steps: Int) { self.steps = steps }

        /// - Returns: whether the process still lives.
        func step() -> Bool {
            steps -= 1
            return steps >= 0
        }

        subscript(word: Int) -> UInt64 {
            get { words[word] }
            set { if step() { words[word] = newValue } }
        }

        static func byte(_ offset: Int) -> UInt8 { UInt8(truncatingIfNeeded: offset &* 7) }

        func setPeekOffset(_ offset: Int) -> Bool {
            if step() { peekOffset = offset }
            return true
        }

        func receive(_ room: (place: Int, count: Int)) -> Int {
            let count = min(room.count, sent - read)
            guard step() else { return count }
            for index in 0..<count { ring[room.place + index] = Self.byte(read + index) }
            read += count
            peekOffset = max(0, peekOffset - count)
            return count
        }

        func makeRecord() -> ClientRecord {
            let record = ClientRecord(new: self, cookie: 1, source: 2, size: Self.size)
            #expect(record.arm(always: true, set: setPeekOffset))
            return record
        }
    }

    /// Runs one process until it is killed or has nothing to do. Events have ten bytes.
    private func live(_ world: World, _ record: ClientRecord, random: inout some RandomNumberGenerator, turns: Int) {
        var done = Int(record.restart)
        for _ in 0..<turns where world.steps >= 0 {
            world.sent += Int.random(in: 0...25, using: &random)
            // As a connection does, it reads no more before everything is processed.
            if record.canRead, Int(record.consumed) - done < 10 {
                _ = record.arm(always: Int.random(in: 0..<5, using: &random) == 0, set: world.setPeekOffset)
                if Int.random(in: 0..<8, using: &random) == 0 {
                    _ = record.grow(to: min(2 * record.size, World.largest))
                }
                record.noteRead(world.receive(record.room(.random(in: 1...30, using: &random))))
            }
            while done + 10 <= Int(record.consumed), record.hasRoom, Bool.random(using: &random) {
                done += 10
                if Int.random(in: 0..<4, using: &random) == 0 {
                    record.advance(to: UInt64(done), ClientRecord.State(lines: UInt64(done / 10)))
                    continue
                }
                // As the journal does: first the entry, then the events.
                record.add(
                    ClientRecord.Entry(
                        offset: UInt64(done), end: UInt64(world.journal.count + 1),
                        state: ClientRecord.State(lines: UInt64(done / 10))))
                if world.step() { world.journal.append(UInt64(done)) }
            }
            world.committed = Int.random(in: world.committed...world.journal.count, using: &random)
            record.settle(durable: UInt64(world.committed))
            if record.isHTTP {
                record.beginAnswer()
                record.noteAnswered(record.settled)
            }
        }
    }

    private func check(_ world: World, durable: Int, _ note: Comment) {
        let copy = World(steps: .max)
        copy.words = world.words
        let record = ClientRecord(left: copy, peekOffset: UInt64(max(0, world.peekOffset)), durable: UInt64(durable))
        #expect(record.consumed == UInt64(world.read), note)
        // Nothing twice and nothing lost: the events in the journal are those before the offset.
        let stored = world.journal.prefix(durable).last ?? 0
        #expect(record.settled >= stored, note)
        #expect(world.journal.dropFirst(durable).allSatisfy { $0 > record.settled }, note)
        #expect(record.settledState.lines == record.settled / 10, note)
        #expect(!record.isCut, note)
        let found = record.heldRanges.flatMap { world.ring[$0] }
        #expect(found == (0..<record.held).map { World.byte(Int(record.restart) + $0) }, note)
    }

    @Test(arguments: [false, true])
    func `a process that is killed at any point leaves what the next one needs`(_ isHTTP: Bool) {
        for seed in 0..<120 as Range<UInt64> {
            var points = 0
            repeat {
                points += 1
                var random = Seeded(seed)
                let world = World(steps: .max)
                let record = world.makeRecord()
                if isHTTP { record.chooseHTTP() }
                world.steps = points
                live(world, record, random: &random, turns: 8)
                for durable in world.committed...world.journal.count {
                    check(
                        world, durable: durable, "seed \(seed), killed after \(points) steps, durable up to \(durable)")
                }
                if world.steps > 0 { break }
            } while true
        }
    }

    @Test func `a second kill at any point of the restart changes nothing`() {
        for seed in 0..<60 as Range<UInt64> {
            for points in stride(from: 3, to: 90, by: 7) {
                var random = Seeded(seed)
                let world = World(steps: .max)
                let record = world.makeRecord()
                world.steps = points
                live(world, record, random: &random, turns: 8)
                let durable = world.journal.count
                for second in 0..<12 {
                    let again = World(steps: second)
                    (again.words, again.ring, again.sent) = (world.words, world.ring, world.sent)
                    (again.read, again.peekOffset, again.journal) = (world.read, world.peekOffset, world.journal)
                    let record = ClientRecord(
                        left: again, peekOffset: UInt64(max(0, world.peekOffset)), durable: UInt64(durable))
                    _ = record.arm(always: true, set: again.setPeekOffset)
                    check(
                        again, durable: durable,
                        "seed \(seed), killed after \(points) steps and \(second) of the restart")
                }
            }
        }
    }

    @Test func `an entry is dropped if its events never reached the journal`() {
        let world = World(steps: .max)
        let record = world.makeRecord()
        world.sent = 30
        record.noteRead(world.receive(record.room(30)))
        for number in 1...3 as ClosedRange<UInt64> {
            record.add(
                ClientRecord.Entry(offset: number * 10, end: number, state: ClientRecord.State(lines: number)))
        }
        let next = ClientRecord(left: world, peekOffset: UInt64(world.peekOffset), durable: 2)
        #expect(next.restart == 20 && next.held == 10 && next.settledState.lines == 2 && !next.isWaiting)
        // The position 3 belongs to another client's event now.
        next.settle(durable: 3)
        #expect(next.settled == 20)
    }

    @Test func `a line that is larger than the ring is known to be cut`() {
        let world = World(steps: .max)
        let record = world.makeRecord()
        world.sent = 100
        while world.read < 100 { record.noteRead(world.receive(record.room(.max))) }
        #expect(record.consumed == 100 && record.isCut && record.heldRanges.isEmpty)
    }

    @Test func `a full ring waits for a commit, and begins anew when it is empty`() {
        let world = World(steps: .max)
        let record = world.makeRecord()
        world.sent = 1000
        record.noteRead(world.receive(record.room(.max)))
        record.add(ClientRecord.Entry(offset: 40, end: 1, state: ClientRecord.State()))
        #expect(!record.canRead && !record.isCut)
        record.settle(durable: 1)
        #expect(record.canRead && record.room(.max) == (0, World.size))
        #expect(record.grow(to: 160) && record.room(.max) == (0, 160))
        record.noteRead(world.receive(record.room(30)))
        #expect(record.room(.max) == (30, 130) && !record.shrink(to: World.size))
    }

    @Test func `a ring that is never empty grows when its bytes lie in one piece`() {
        let world = World(steps: .max)
        let record = world.makeRecord()
        world.sent = 1000
        var commits: UInt64 = 0
        func read(_ count: Int) { record.noteRead(world.receive(record.room(count))) }
        func settle(_ offset: UInt64) {
            commits += 1
            record.add(ClientRecord.Entry(offset: offset, end: commits, state: ClientRecord.State()))
            record.settle(durable: commits)
        }
        read(40)
        settle(30)
        read(20)
        #expect(record.heldRanges == [30..<40, 0..<20])
        #expect(!record.grow(to: 80))
        settle(45)
        #expect(record.grow(to: 80))
        #expect(record.heldRanges == [5..<20] && record.room(.max) == (20, 60))
        read(40)
        #expect(record.heldRanges.flatMap { world.ring[$0] } == (45..<100).map { World.byte($0) })
    }

    @Test func `a full ring waits until half of it is free, and many entries until half of them are`() {
        let world = World(steps: .max)
        let record = world.makeRecord()
        world.sent = 1000
        #expect(record.endOfHalf == nil)
        record.noteRead(world.receive(record.room(.max)))
        for number in 1...4 as ClosedRange<UInt64> {
            record.add(ClientRecord.Entry(offset: number * 10, end: number * 100, state: ClientRecord.State()))
        }
        #expect(!record.canRead && record.endOfHalf == 200 && record.awaitedEnd == 400)
        record.settle(durable: 200)
        #expect(record.canRead)
        record.settle(durable: 400)
        record.noteRead(world.receive(record.room(30)))
        for number in 1...27 as ClosedRange<UInt64> {
            record.add(ClientRecord.Entry(offset: 40 + number, end: 400 + number, state: ClientRecord.State()))
        }
        #expect(record.canRead && !record.hasRoom && record.endOfHalf == 412)
        record.settle(durable: 412)
        #expect(record.hasRoom)
    }

    @Test func `the count is set anew before it is used up`() {
        let world = World(steps: .max)
        let record = world.makeRecord()
        var sets = 0
        for _ in 0..<(3 << 10) {
            // Each read is settled at once.
            record.noteRead(1 << 20)
            world.peekOffset -= 1 << 20
            record.advance(to: record.consumed, ClientRecord.State())
            record.settle(durable: 0)
            #expect(world.peekOffset > 0)
            #expect(
                record.arm { offset in
                    sets += 1
                    return world.setPeekOffset(offset)
                })
        }
        #expect(sets == 3)
        let next = ClientRecord(left: world, peekOffset: UInt64(world.peekOffset), durable: 0)
        #expect(next.consumed == 3 << 30)
    }

    @Test func `numbers of entries wrap around`() {
        let world = World(steps: .max)
        _ = world.makeRecord()
        let last = UInt64(UInt32.max)
        world.words[ClientRecord.Word.window] = last << 32 | last
        let place = ClientRecord.Word.entries + 3 * Int((UInt32.max - 1) & (ClientRecord.entries - 1))
        world.words[place] = 500
        let record = ClientRecord(left: world, peekOffset: 0, durable: 0)
        #expect(record.settled == 500)
        for number in 1...4 as ClosedRange<UInt64> {
            record.add(ClientRecord.Entry(offset: 500 + number, end: number, state: ClientRecord.State()))
        }
        record.settle(durable: 3)
        #expect(record.settled == 503 && record.awaitedEnd == 4)
        #expect(ClientRecord(left: world, peekOffset: 0, durable: 4).settled == 504)
    }
}

/// SplitMix64.
private struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
