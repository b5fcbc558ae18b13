import Testing

@testable import FleetFormat

@Suite struct LaneBalanceTests {
    /// splitmix64.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            let mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            return mixed ^ (mixed >> 29)
        }
    }

    private let now = ContinuousClock.now

    private func claims(_ balance: inout LaneBalance) -> Bool { balance.mayClaim(isAbandoned: false) }

    /// Hosts that claim free lanes and let go of those beyond their share, in any order.
    private func shares(_ lanes: Int, from start: [Int], seed: UInt64) -> [Int] {
        var random = Generator(state: seed)
        var hosts = start.map { held in
            var balance = LaneBalance()
            for _ in 0..<held {
                #expect(claims(&balance))
                balance.claimed(true, isAbandoned: false, at: now)
            }
            balance.share(lanes, among: start.count, at: now)
            return balance
        }
        for _ in 0..<lanes * hosts.count * 20 {
            let host = Int.random(in: hosts.indices, using: &random)
            let free = lanes - hosts.map(\.held).reduce(0, +)
            if free > 0, claims(&hosts[host]) {
                hosts[host].claimed(true, isAbandoned: false, at: now)
            } else if hosts[host].mustYield() {
                hosts[host].released(hasYielded: true)
            }
        }
        return hosts.map(\.held)
    }

    @Test(arguments: 1...20)
    func `every lane has a host, and no host has more than its share`(seed: UInt64) {
        var random = Generator(state: seed)
        let lanes = Int.random(in: 1...64, using: &random)
        var left = lanes
        let start = (0..<Int.random(in: 1...8, using: &random)).map { _ in
            let held = Int.random(in: 0...left, using: &random)
            left -= held
            return held
        }
        let found = shares(lanes, from: start, seed: seed)
        #expect(found.reduce(0, +) == lanes)
        #expect(found.allSatisfy { $0 <= (lanes + start.count - 1) / start.count }, "\(start) became \(found)")
    }

    @Test func `a host that does not know the others claims everything`() {
        var balance = LaneBalance()
        for _ in 0..<64 {
            #expect(claims(&balance))
            balance.claimed(true, isAbandoned: false, at: now)
        }
        let mustYield = balance.mustYield()
        #expect(balance.held == 64 && !mustYield)
    }

    @Test func `lanes that are being claimed or let go count`() {
        var balance = LaneBalance()
        balance.share(4, among: 2, at: now)
        let answers = (0..<3).map { _ in claims(&balance) }
        #expect(answers == [true, true, false])
        let takesAbandoned = balance.mayClaim(isAbandoned: true)
        #expect(takesAbandoned)
        for isOurs in [true, false, true] { balance.claimed(isOurs, isAbandoned: false, at: now) }
        let yields = [balance.mustYield()]
        balance.share(4, among: 4, at: now)
        let later = (0..<2).map { _ in balance.mustYield() }
        #expect(yields + later == [false, true, false])
        #expect(!claims(&balance))
        balance.released(hasYielded: true)
        let yieldsLater = balance.mustYield()
        #expect(balance.held == 1 && !yieldsLater)
    }

    @Test func `what no other host claims is kept for a while`() {
        var balance = LaneBalance()
        balance.share(4, among: 2, at: now)
        for isAbandoned in [false, false, true, true] {
            let mayClaim = balance.mayClaim(isAbandoned: isAbandoned)
            #expect(mayClaim)
            balance.claimed(true, isAbandoned: isAbandoned, at: now)
        }
        balance.share(4, among: 2, at: now + .seconds(30))
        let early = balance.mustYield()
        balance.share(4, among: 2, at: now + .seconds(31))
        let late = (0..<3).map { _ in balance.mustYield() }
        #expect(!early && late == [true, true, false])
    }

    @Test func `claims that fail leave no room beyond the share`() {
        var balance = LaneBalance()
        balance.share(2, among: 2, at: now)
        for isOurs in [true, false, false, true] {
            _ = balance.mayClaim(isAbandoned: true)
            balance.claimed(isOurs, isAbandoned: true, at: now)
        }
        balance.share(2, among: 2, at: now + .seconds(31))
        let yields = (0..<2).map { _ in balance.mustYield() }
        #expect(yields == [true, false])
        for _ in 0..<5 {
            _ = balance.mayClaim(isAbandoned: true)
            balance.claimed(false, isAbandoned: true, at: now)
        }
        balance.released(hasYielded: true)
        #expect(!claims(&balance))
    }

    @Test func `a host that comes or goes ends that, and a host that knows no others keeps everything`() {
        var balance = LaneBalance()
        balance.share(4, among: 2, at: now)
        for _ in 0..<4 {
            _ = balance.mayClaim(isAbandoned: true)
            balance.claimed(true, isAbandoned: true, at: now)
        }
        balance.forget()
        let unknown = balance.mustYield()
        balance.share(4, among: 3, at: now)
        let known = balance.mustYield()
        #expect(!unknown && known)
    }

    @Test func `numbers at their ends are shares`() {
        var balance = LaneBalance()
        balance.share(.max, among: .min, at: now)
        #expect(claims(&balance))
        balance.share(0, among: .max, at: now)
        #expect(!claims(&balance))
    }
}
