import Testing

@testable import Ingest

@Suite struct FairQueueTests {
    @Test func `users take turns whatever their number of connections`() {
        var queue = FairQueue<String>()
        for number in 0..<1000 { queue.add("a\(number)", user: 1, .trusted) }
        queue.add("b", user: 2, .other)
        queue.add("c", user: 3, .trusted)
        #expect((0..<4).compactMap { _ in queue.next() } == ["a0", "b", "c", "a1"])
        queue.add("b", user: 2, .other)
        let next = [queue.next(), queue.next()]
        #expect(next.contains("b"))
        #expect(queue.count == 997)
    }

    @Test func `trusted connections of a user are served first, and its others are still served`() {
        var queue = FairQueue<Int>()
        for number in 0..<100 { queue.add(number, user: 1, .other) }
        for number in 1000..<1100 { queue.add(number, user: 1, .trusted) }
        let first = (0...FairQueue<Int>.trustedInARow).compactMap { _ in queue.next() }
        #expect(first.prefix(FairQueue<Int>.trustedInARow).allSatisfy { $0 >= 1000 })
        #expect(first.last == 0)
    }

    @Test func `light connections of a user are served first, and its others are still served`() {
        var queue = FairQueue<Int>()
        for number in 0..<100 { queue.add(number, user: 1, .trusted) }
        for number in 1000..<1100 { queue.add(number, user: 1, .light) }
        queue.add(-1, user: 1, .other)
        let first = (0..<67).compactMap { _ in queue.next() }
        let light = FairQueue<Int>.lightInARow
        #expect(first.prefix(light).allSatisfy { $0 >= 1000 } && first[light] == 0)
        #expect(first[(light + 1)...].prefix(light).allSatisfy { $0 >= 1000 } && first[2 * light + 1] == 1)
        #expect((0..<500).compactMap { _ in queue.next() }.contains(-1))
    }

    @Test func `each item is served once each time it is added`() {
        var queue = FairQueue<Int>()
        var generator = SystemRandomNumberGenerator()
        var inside = 0
        var (added, served) = (0, Set<Int>())
        for _ in 0..<20_000 {
            if Bool.random(using: &generator) {
                queue.add(
                    added, user: .local(UInt32.random(in: 0..<7, using: &generator)),
                    [Conduct.Standing.light, .trusted, .other].randomElement(using: &generator) ?? .other)
                (added, inside) = (added + 1, inside + 1)
            } else if let item = queue.next(trustedOnly: Bool.random(using: &generator)) {
                #expect(served.insert(item).inserted)
                inside -= 1
            }
            #expect(queue.count == inside)
        }
        while let item = queue.next() { served.insert(item) }
        #expect(served.count == added)
        #expect(queue.isEmpty && queue.trustedCount == 0)
    }

    @Test func `untrusted connections can stay in the queue while trusted ones are served`() {
        var queue = FairQueue<Int>()
        queue.add(1, user: 1, .other)
        queue.add(2, user: 2, .other)
        queue.add(3, user: 2, .trusted)
        #expect(queue.next(trustedOnly: true) == 3)
        #expect(queue.next(trustedOnly: true) == nil)
        #expect(Set([queue.next(), queue.next()]) == [1, 2])
    }

    @Test func `a user whose connections were all served begins anew`() {
        var queue = FairQueue<Int>()
        for number in 0..<FairQueue<Int>.lightInARow { queue.add(number, user: 1, .light) }
        while queue.next() != nil {}
        queue.add(1, user: 1, .trusted)
        queue.add(2, user: 1, .light)
        #expect([queue.next(), queue.next()] == [2, 1])
        for number in 0..<FairQueue<Int>.trustedInARow { queue.add(number, user: 1, .trusted) }
        while queue.next() != nil {}
        queue.add(1, user: 1, .other)
        queue.add(2, user: 1, .trusted)
        #expect([queue.next(), queue.next()] == [2, 1])
    }

    @Test func `a user whose line was empty while others waited has one turn among theirs`() {
        var queue = FairQueue<Int>()
        for (number, user) in [(1, 1), (2, 1), (3, 2)] as [(Int, UInt32)] {
            queue.add(number, user: .local(user), .trusted)
        }
        #expect([queue.next(), queue.next()] == [1, 3])
        for (number, user) in [(4, 2), (5, 1), (6, 2), (7, 2)] as [(Int, UInt32)] {
            queue.add(number, user: .local(user), .trusted)
        }
        #expect((0..<5).map { _ in queue.next() } == [2, 4, 5, 6, 7])
    }

    /// - Parameter waiting: how many users still wait when the line that is kept becomes empty.
    @Test(arguments: [0, 500, 999])
    func `no memory is kept for users without queued connections, except for one`(waiting: Int) {
        var queue = FairQueue<Int>()
        for round in 0..<3 {
            for user in 0..<1000 {
                for item in 0..<(user < waiting ? 2 : 1) { queue.add(item, user: .local(UInt32(user)), .trusted) }
            }
            #expect(queue.keptUsers == 1000, "\(round)")
            while queue.next() != nil {}
            #expect(queue.keptUsers == 1)
        }
        queue.add(0, user: .local(2000), .trusted)
        #expect(queue.keptUsers == 1)
        #expect(queue.next() == 0 && queue.next() == nil)
    }
}
