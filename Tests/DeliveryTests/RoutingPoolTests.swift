import Glibc
import Platform
import Synchronization
import Testing

@testable import Delivery

@Suite("A routing pool", .timeLimit(.minutes(5)))
struct RoutingPoolTests {
    private let clock = SystemClock()

    private func eventually(_ condition: () -> Bool) -> Bool {
        let deadline = clock.now() + .seconds(60)
        while !condition() {
            guard clock.now() < deadline else { return false }
            usleep(500)
        }
        return true
    }

    private func pool(_ threads: Int = 2) -> RoutingPool {
        let pool = RoutingPool(threads: threads)
        pool.start()
        return pool
    }

    @Test func `a worker gets a turn at the start, when one is due, and when it is woken`() {
        let pool = pool()
        defer { pool.stop(by: clock.now() + .seconds(60)) }
        let times = Mutex<[Instant]>([])
        let place = pool.register()
        place.begin { now, _ in
            times.withLock { times in
                times.append(now)
                return times.count == 1 ? now + .milliseconds(30) : nil
            }
        }
        #expect(eventually { times.withLock { $0.count } == 2 })
        let two = times.withLock { $0 }
        #expect(two[1] - two[0] >= .milliseconds(30))
        place.wake()
        #expect(eventually { times.withLock { $0.count } == 3 })
        #expect(eventually { place.turnBegan == nil })
    }

    @Test func `wakes from many threads are never lost, and the turns of a worker never overlap`() {
        let pool = pool(4)
        defer { pool.stop(by: clock.now() + .seconds(60)) }
        let places = (0..<20).map { _ in pool.register() }
        let asked = places.map { _ in Counter() }
        let seen = places.map { _ in Counter() }
        for number in places.indices {
            let isIn = Atomic(false)
            places[number].begin { [asked = asked[number], seen = seen[number]] _, _ in
                precondition(!isIn.exchange(true, ordering: .acquiring))
                seen.value.store(asked.value.load(ordering: .acquiring), ordering: .releasing)
                isIn.store(false, ordering: .releasing)
                return nil
            }
        }
        let threads = (0..<4).map { _ in
            WorkerThread(name: "waker") {
                for round in 0..<10_000 {
                    asked[round % 20].value.wrappingAdd(1, ordering: .acquiringAndReleasing)
                    places[round % 20].wake()
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(eventually { seen.allSatisfy { $0.value.load(ordering: .acquiring) == 2000 } })
    }

    @Test func `a cancelled worker's turn is released and never runs again, and the pool's end releases all turns`() {
        let pool = pool()
        let taken = Counter()
        weak let cancelled: Token?
        weak let last: Token?
        let (one, other) = (pool.register(), pool.register())
        do {
            let (first, second) = (Token(), Token())
            (cancelled, last) = (first, second)
            one.begin { _, _ in
                withExtendedLifetime(first) { _ = taken.value.wrappingAdd(1, ordering: .relaxed) }
                return nil
            }
            other.begin { _, _ in
                withExtendedLifetime(second) {}
                return nil
            }
        }
        #expect(eventually { taken.value.load(ordering: .relaxed) == 1 })
        one.cancel()
        #expect(eventually { cancelled == nil })
        one.wake()
        #expect(last != nil)
        #expect(pool.stop(by: clock.now() + .seconds(60)))
        #expect(last == nil)
        #expect(taken.value.load(ordering: .relaxed) == 1)
    }

    @Test func `a turn that hangs is reported, delays no other worker, and is abandoned when the pool stops`() {
        let pool = pool()
        let (isIn, release) = (Doorbell(), Doorbell())
        let hanging = pool.register()
        hanging.begin(callsScripts: true) { _, _ in
            isIn.ring()
            release.wait()
            return nil
        }
        isIn.wait()
        #expect(hanging.turnBegan != nil)
        let count = Counter()
        let sound = pool.register()
        sound.begin { _, _ in
            count.value.wrappingAdd(1, ordering: .relaxed)
            return nil
        }
        for round in 1...20 {
            #expect(eventually { count.value.load(ordering: .relaxed) == round })
            sound.wake()
        }
        #expect(eventually { pool.heartbeat.isMultiple(of: 2) }, "one thread hangs, but the pool does not")
        #expect(!pool.stop(by: clock.now()))
        release.ring()
        #expect(pool.stop(by: clock.now() + .seconds(60)))
        #expect(hanging.turnBegan == nil)
    }

    @Test func `the heartbeat stops at an odd number when every thread hangs`() {
        let pool = pool()
        let gates = (0..<2).map { _ in (isIn: Doorbell(), release: Doorbell()) }
        for gate in gates {
            pool.register().begin { [gate] _, _ in
                gate.isIn.ring()
                gate.release.wait()
                return nil
            }
        }
        for gate in gates { gate.isIn.wait() }
        let beat = pool.heartbeat
        #expect(!beat.isMultiple(of: 2) && pool.heartbeat == beat)
        for gate in gates { gate.release.ring() }
        #expect(eventually { pool.heartbeat > beat && pool.heartbeat.isMultiple(of: 2) })
        pool.stop(by: clock.now() + .seconds(60))
    }

    @Test func `a resized pool continues its work`() {
        let pool = pool()
        let counts = (0..<4).map { _ in Counter() }
        for count in counts {
            pool.register().begin { now, _ in
                count.value.wrappingAdd(1, ordering: .relaxed)
                return now
            }
        }
        for threads in [6, 2, 3] {
            pool.resize(threads)
            let before = counts.map { $0.value.load(ordering: .relaxed) }
            #expect(eventually { zip(counts, before).allSatisfy { $0.value.load(ordering: .relaxed) > $1 + 10 } })
        }
        #expect(pool.stop(by: clock.now() + .seconds(60)))
    }
}

private final class Token: Sendable {}

private final class Counter: Sendable {
    let value = Atomic(0)
}
