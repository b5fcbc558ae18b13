import Synchronization

/// A value that several threads use.
final class Guarded<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }
    func change(_ change: (inout Value) -> Void) { state.withLock { change(&$0) } }
}
