import Platform
import Synchronization
import Testing

@Suite("Names of users")
struct UserNameCacheTests {
    private final class Machine: Clock {
        let time = Mutex<Int64>(0)
        let asked = Mutex<[UInt32]>([])
        let names = Mutex<[UInt32: String]>([33: "www-data"])

        func now() -> Instant { Instant(nanoseconds: time.withLock { $0 }) }
        func wallClock() -> Int64 { 0 }

        func pass(_ duration: Duration) { time.withLock { $0 += duration.inNanoseconds } }

        var cache: UserNameCache {
            UserNameCache(clock: self) { id in
                self.asked.withLock { $0.append(id) }
                return self.names.withLock { $0[id] }
            }
        }
    }

    @Test func `a user is asked for once in some minutes, also one without a name`() {
        let machine = Machine()
        let cache = machine.cache
        for _ in 0..<100 {
            #expect(cache.lookUp(33) == "www-data")
            #expect(cache.lookUp(7) == nil)
            machine.pass(.milliseconds(2900))
        }
        #expect(machine.asked.withLock { $0 } == [33, 7])
        machine.names.withLock { $0 = [33: "web", 7: "seven"] }
        machine.pass(UserNameCache.lifetime)
        #expect(cache.lookUp(33) == "web" && cache.lookUp(7) == "seven")
    }

    @Test func `the number of remembered users is bounded`() {
        let machine = Machine()
        let cache = machine.cache
        for id in 0...UInt32(UserNameCache.limit) { _ = cache.lookUp(id) }
        _ = cache.lookUp(UInt32(UserNameCache.limit))
        #expect(machine.asked.withLock { $0.count } == UserNameCache.limit + 1)
        _ = cache.lookUp(0)
        #expect(machine.asked.withLock { $0.count } == UserNameCache.limit + 2)
    }

    @Test func `the name of user 0 is known to the machine`() {
        #expect(UserNameCache.shared.lookUp(0) == "root")
        #expect(UserNameCache.shared.lookUp(.max) == nil)
    }
}
