import Testing

@testable import Penstock

/// The state machine in a simulated world where anything may happen, determined by a seed.
@Suite struct DaemonSessionTests {
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }

    private struct World {
        static let lineBytes = 8
        var random: Seeded
        var now = ContinuousClock.now
        var session: DaemonSession
        var recorded = 0
        /// The numbers on disk that are not acknowledged, and how many of them were sent.
        var disk: [Int] = []
        var diskSent = 0
        /// The numbers sent on the connection and not acknowledged.
        var wire: [Int] = []
        var acknowledgedHere = 0
        /// The numbers that the daemon has received, in order of arrival.
        var received: [Int] = []
        var released = 0

        init(seed: UInt64) {
            random = Seeded(state: seed)
            session = DaemonSession(
                reconnect: .milliseconds(1) ... .milliseconds(50), spill: .init(lines: 60, bytes: 400), now: now)
        }

        mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        mutating func record() {
            let count = Int.random(in: 1...5, using: &random)
            let text = (recorded..<recorded + count).map { String($0 + 1_000_000) + "\n" }.joined()
            session.take([LineBlock(bytes: Array(text.utf8), lines: count)])
            recorded += count
        }

        func numbers(_ block: LineBlock) -> [Int] {
            String(decoding: block.bytes, as: UTF8.self).split(separator: "\n").compactMap {
                Int($0).map { $0 - 1_000_000 }
            }
        }

        mutating func disconnect() {
            let (spooled, memory) = session.disconnected(now: now, using: &random)
            disk.removeFirst(spooled)
            diskSent = 0
            released += memory.lines + spooled
            wire = []
            acknowledgedHere = 0
        }

        mutating func acknowledge(_ count: Int) throws {
            received += wire.prefix(count)
            wire.removeFirst(count)
            acknowledgedHere += count
            let settled = try session.acknowledged(upTo: acknowledgedHere)
            let lines = settled.spooled / Self.lineBytes
            disk.removeFirst(lines)
            diskSent -= lines
            released += settled.memory.lines + lines
        }

        mutating func step(isCalm: Bool) throws {
            if !isCalm, chance(30) { record() }
            now += .milliseconds(Int.random(in: 0...20, using: &random))
            let hasRoom = isCalm || chance(70)
            switch session.next(
                now: now, disk: .init(unsent: (disk.count - diskSent) * Self.lineBytes, hasRoom: hasRoom),
                mustSpool: chance(3))
            {
            case .connect: if isCalm || chance(40) { session.connected() } else { disconnect() }
            case .spool:
                guard let (block, wasSent) = session.oldestInMemory else { return }
                disk += numbers(block)
                if wasSent { diskSent += block.lines }
                session.spooledOldest()
            case .resume: session.finishedSending()
            case .sendSpooled:
                let count = min(disk.count - diskSent, Int.random(in: 1...7, using: &random))
                wire += disk[diskSent..<diskSent + count]
                diskSent += count
                session.begin(lines: count, bytes: count * Self.lineBytes, block: nil)
            case .send(let block):
                session.begin(lines: block.lines, bytes: block.bytes.count, block: block)
                wire += numbers(block)
            case .wait: break
            }
            if session.link == .up {
                if !wire.isEmpty, isCalm || chance(50) {
                    try acknowledge(Int.random(in: 1...wire.count, using: &random))
                }
                if !isCalm, chance(5) { disconnect() }
            }
        }
    }

    @Test(arguments: 0..<200)
    func `every event is acknowledged, in order, whatever happens`(seed: Int) throws {
        var world = World(seed: UInt64(seed))
        for _ in 0..<2000 { try world.step(isCalm: false) }
        var steps = 0
        while !(world.session.isIdle && world.disk.isEmpty), steps < 100_000 {
            try world.step(isCalm: true)
            steps += 1
        }
        // This daemon keeps nothing that it has not acknowledged, so no event arrives twice.
        #expect(world.received == Array(0..<world.recorded))
        #expect(world.session.memory == .init())
    }

    @Test(arguments: [3, -1])
    func `an acknowledgement of unsent lines is rejected and releases nothing`(lines: Int) {
        var random = Seeded(state: 1)
        var session = DaemonSession(
            reconnect: .milliseconds(1) ... .milliseconds(2), spill: .init(lines: 100, bytes: 1000), now: .now)
        let block = LineBlock(bytes: Array("a\nb\n".utf8), lines: 2)
        session.take([block])
        session.connected()
        session.begin(lines: 2, bytes: 4, block: block)
        #expect(throws: DaemonSession.ProtocolViolation.self) { try session.acknowledged(upTo: lines) }
        _ = session.disconnected(now: .now, using: &random)
        #expect(session.oldestInMemory?.block == block)
    }

    @Test func `the backoff grows to its bound and restarts after a reset`() {
        var random = Seeded(state: 1)
        var backoff = Backoff(.milliseconds(100) ... .seconds(5))
        for _ in 0..<1000 {
            let time = backoff.fail(using: &random)
            #expect(time >= .milliseconds(100) && time <= .seconds(5))
        }
        backoff.reset()
        #expect(backoff.fail(using: &random) <= .milliseconds(200))
    }

    @Test func `the number of a line leads to its event`() throws {
        let now = ContinuousClock.now
        var session = DaemonSession(reconnect: .zero ... .zero, spill: .init(lines: 60, bytes: 4000), now: now)
        session.connected()
        let events = (0..<6).map { RecordedEvent.numbered($0) }
        for pair in [events[0..<2], events[2..<4], events[4..<6]] {
            let bytes = pair.flatMap { $0.json + [UInt8(ascii: "\n")] }
            let sites = pair.map { CallSite("Shop/Shop.swift", UInt($0.number ?? -1)) }
            session.take([LineBlock(bytes: bytes, lines: 2, sites: sites)])
            guard case .send(let block) = session.next(now: now, disk: .init(unsent: 0, hasRoom: false)) else { return }
            session.begin(lines: 2, bytes: block.bytes.count, block: block)
            session.finishedSending()
        }
        func number(_ line: Int) -> Int? { session.event(line: line)?.number }
        #expect((1...6).map(number) == [0, 1, 2, 3, 4, 5])
        #expect(session.event(line: 4)?.callSite == "Shop/Shop.swift:3")
        _ = try session.acknowledged(upTo: 3)
        #expect((3...6).map(number) == [2, 3, 4, 5])
        #expect([Int.min, -1, 0, 1, 2, 7, Int.max].allSatisfy { number($0) == nil })
    }
}
