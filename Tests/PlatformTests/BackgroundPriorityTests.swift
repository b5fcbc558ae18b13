import Platform
import Synchronization
import Testing

@Suite struct BackgroundPriorityTests {
    @Test func `a thread that gives way does not change the others`() {
        let before = BackgroundPriority.current
        let inside = Mutex<(nice: Int32, isIdle: Bool)>((0, false))
        let thread = WorkerThread(name: "background") {
            BackgroundPriority.enter()
            let current = BackgroundPriority.current
            inside.withLock { $0 = current }
        }
        thread.join()
        #expect(inside.withLock { $0 } == (19, true))
        #expect(BackgroundPriority.current == before)
    }
}
