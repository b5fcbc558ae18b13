import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// A value that many threads read often and that changes rarely.
///
/// Threads are spread over several copies, each with its own lock, so a reader seldom waits. With a single lock,
/// readers would queue as soon as threads must be woken for it.
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

    /// Changes the value. The calling thread sees the new value when the call returns; other threads see it very soon.
    func change<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        // The old values may hold the last reference to an object. Release them after unlocking, because a deinit may
        // run any code.
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

/// Selects the copy that a thread uses.
enum ThreadStripe {
    static let count = 16

    /// An index below `count`, constant for the life of the thread.
    static var current: Int {
        // The type of `pthread_t` differs: a number or a pointer.
        let thread = unsafe withUnsafeBytes(of: pthread_self()) { bytes in
            bytes.count >= MemoryLayout<UInt>.size ? UInt64(unsafe bytes.load(as: UInt.self)) : 0
        }
        // Thread descriptors lie a multiple of the stack size apart. Fibonacci hashing spreads them.
        return Int(((thread >> 12) &* 0x9E37_79B9_7F4A_7C15) >> 60)
    }
}
