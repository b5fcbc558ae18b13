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

/// What a thread needs to record an event and can keep for the next one.
///
/// Only the thread that took the recorder from the pool may use it. Therefore `Sendable` is unchecked.
final class Recorder: @unchecked Sendable {
    let writer = JSONWriter()
    var timestamps = RFC3339.Writer()
    /// The parts of the line that were last used, with their scope's version.
    var fragments: VersionedValue<Fragments>.Kept?
}

/// The recorders of a pipeline, and its route. Threads are spread over several places, each with its own lock, so that
/// a thread takes both with one lock, for which it seldom waits, and usually gets back the recorder that it returned
/// last. If the place has no recorder, because of other threads or an event that records another event, a new one is
/// made.
final class RecorderPool: Sendable {
    private final class Place: Sendable {
        struct State {
            var route: EventPipeline.Route
            var recorder: Recorder?
        }

        let state: Mutex<State>

        init(_ route: EventPipeline.Route) { state = Mutex(State(route: route)) }
    }

    /// The largest buffer of a pooled recorder in bytes. Larger ones are freed.
    private static let sizeLimit = 64 << 10

    private let places: [Place]
    private let changing = Mutex(())

    init(_ route: EventPipeline.Route) {
        places = (0..<ThreadGroup.count).map { _ in Place(route) }
    }

    var route: EventPipeline.Route { places[ThreadGroup.current].state.withLock { $0.route } }

    /// Takes the current route and a recorder, which the caller puts back.
    func take() -> (route: EventPipeline.Route, recorder: Recorder) {
        let (route, recorder) = places[ThreadGroup.current].state.withLock { state in
            let recorder = state.recorder
            state.recorder = nil
            return (state.route, recorder)
        }
        return (route, recorder ?? Recorder())
    }

    func putBack(_ recorder: Recorder) {
        guard recorder.writer.builder.text.bytes.capacity <= Self.sizeLimit else { return }
        recorder.writer.removeAll()
        places[ThreadGroup.current].state.withLock { $0.recorder = recorder }
    }

    /// Changes the route. The calling thread sees the new route when the call returns; other threads see it very soon.
    func changeRoute<Result: Sendable>(_ change: (inout EventPipeline.Route) -> Result) -> Result {
        // The old routes may hold the last reference to a provider. Release them after unlocking, because a deinit may
        // run any code.
        var old: [EventPipeline.Route] = []
        defer { old.removeAll() }
        return changing.withLock { _ in
            var route = places[0].state.withLock { $0.route }
            let result = change(&route)
            for place in places {
                old.append(place.state.withLock { $0.route })
                place.state.withLock { $0.route = route }
            }
            return result
        }
    }
}

/// Selects the place that a thread uses.
private enum ThreadGroup {
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
