import Glibc
import Platform
import Synchronization
import Testing

@Suite struct FreeMemoryTests {
    /// By default, glibc keeps the memory of the second block: it has learnt from the first one to keep so much.
    @Test func `large blocks that a thread has freed go back to the system`() {
        FreeMemory.bound()
        let resident = Mutex<[Int]>([])
        let thread = WorkerThread(name: "large blocks") {
            for _ in 0..<8 { resident.withLock { $0.append(Self.residentPagesAfterUse(of: 20 << 20)) } }
        }
        thread.join()
        // Another thread may have got the same addresses at once, but not each time.
        #expect(resident.withLock { $0 }.dropFirst().contains(0), "\(resident.withLock { $0 })")
    }

    /// Allocates a block, writes to it and frees it.
    /// - Returns: how many of its pages still have memory.
    private static func residentPagesAfterUse(of size: Int) -> Int {
        guard let block = unsafe malloc(size) else { return -1 }
        unsafe memset(block, 1, size)
        let page = 4096
        let first = unsafe UnsafeMutableRawPointer(bitPattern: (UInt(bitPattern: block) / 4096 + 1) * 4096)
        unsafe free(block)
        FreeMemory.giveBack()
        var pages = [UInt8](repeating: 0, count: size / page - 2)
        // It fails if a part is not mapped any more.
        guard unsafe mincore(first, pages.count * page, &pages) == 0 else { return 0 }
        return pages.count { $0 & 1 == 1 }
    }
}
