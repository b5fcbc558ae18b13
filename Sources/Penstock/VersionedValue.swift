import Synchronization

/// A value that many threads read often and that changes rarely. A reader keeps what it has read, and needs the lock
/// only if the value has been replaced since then.
final class VersionedValue<Value: AnyObject & Sendable>: Sendable {
    /// A value that was read, with its version.
    struct Kept: Sendable {
        fileprivate let version: UInt64
        let value: Value
    }

    private let newest: Mutex<Kept>
    private let version: Atomic<UInt64>

    init(_ value: Value) {
        let kept = Kept(version: Versions.next(), value: value)
        newest = Mutex(kept)
        version = Atomic(kept.version)
    }

    /// Returns the value. `kept` may come from another `VersionedValue`: no two values have the same version.
    func read(_ kept: inout Kept?) -> Value {
        if let kept, kept.version == version.load(ordering: .acquiring) { return kept.value }
        let read = newest.withLock { $0 }
        kept = read
        return read.value
    }

    /// Replaces the value. The calling thread reads the new value when the call returns; other threads very soon.
    func replace(by value: Value) {
        let new = Kept(version: Versions.next(), value: value)
        let old = newest.withLock { newest in
            defer { newest = new }
            version.store(new.version, ordering: .releasing)
            return newest
        }
        // Released after unlocking.
        withExtendedLifetime(old) {}
    }
}

private enum Versions {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}
