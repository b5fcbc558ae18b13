#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
import Synchronization

/// A value that many threads read all the time, and that is rarely changed.
///
/// Each thread reads a copy of its own (or of its own and a few others'), behind a lock that it
/// therefore seldom waits for: one lock for all is a queue, once threads have to be woken for it.
final class ReadMostly<Value: Sendable>: Sendable {
    private let copies: [Copy]
    private let changing = Mutex(())

    private final class Copy: Sendable {
        let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
    }

    init(_ value: Value, copies: Int = ThreadStripe.count) {
        self.copies = (0..<copies).map { _ in Copy(value) }
    }

    var value: Value { copies[ThreadStripe.current % copies.count].value.withLock { $0 } }

    /// Changes the value; the calling thread sees the new one, and every other thread very soon.
    func change<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        // They may be the last that hold something, and its end is not for a locked room.
        var old: [Value] = []
        defer { old.removeAll() }
        return changing.withLock { _ in
            var value = copies[0].value.withLock { $0 }
            let result = change(&value)
            for copy in copies {
                old.append(copy.value.withLock { $0 })
                copy.value.withLock { $0 = value }
            }
            return result
        }
    }
}

/// Which of several copies of something a thread uses.
enum ThreadStripe {
    static let count = 16

    /// The same for all of a thread's life; below `count`.
    static var current: Int {
        #if canImport(Darwin)
            let thread = unsafe UInt64(UInt(bitPattern: pthread_self()))
        #else
            let thread = UInt64(pthread_self())
        #endif
        // Descriptors of threads lie a stack apart from each other: Fibonacci's hash spreads them.
        return Int(((thread >> 12) &* 0x9E37_79B9_7F4A_7C15) >> 60)
    }
}
