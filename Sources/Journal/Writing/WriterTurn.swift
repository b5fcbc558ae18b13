import Platform
import Synchronization

/// The writer, for the threads that may call it, one at a time: its own, and one that commits at once what it has
/// appended. Under a light load, that saves two switches of threads for each commit. Any thread.
final class WriterTurn: Sendable {
    /// Larger commits are left to the writer's thread, so that clients are served meanwhile.
    static let largest = 64 << 10
    /// After a commit that took longer, the disk counts as slow: the next ones are left to the writer's thread.
    static let slow = Duration.milliseconds(5)
    /// For how long, within these bounds: 19 times as long as that commit took, so that slow commits take a twentieth
    /// of the time at most. If the last pause began less than ten pauses ago, at least twice as long as that one.
    static let pauses = Duration.milliseconds(100)...Duration.seconds(64)

    /// When the disk was slow.
    struct Slowness {
        private(set) var pause = Duration.zero
        private(set) var pausesUntil: Instant?
        private var last: Instant?

        /// A commit was slow.
        mutating func note(at now: Instant, took: Duration) {
            let isRepeated = last.map { now - $0 < pause * 10 } ?? false
            let doubled = isRepeated ? pause * 2 : pauses.lowerBound
            pause = min(max(doubled, min(took, pauses.upperBound) * 19), pauses.upperBound)
            pausesUntil = now + pause
            last = now
        }
    }

    private struct State {
        /// Nil before the start and after the end.
        var called: (writer: JournalWriter, onSpace: @Sendable () -> Void)?
        var slowness = Slowness()
    }

    private let state = Mutex(State())
    private let clock: any Clock

    init(clock: any Clock) { self.clock = clock }

    /// - Parameter onSpace: as in `Journal.start`.
    func begin(_ writer: JournalWriter, onSpace: @escaping @Sendable () -> Void) {
        state.withLock { $0.called = (writer, onSpace) }
    }

    /// Waits for a commit that is being made.
    func end() { state.withLock { $0.called = nil } }

    /// Calls the writer when no other thread does.
    func with<Result: Sendable>(_ writer: JournalWriter, _ body: (JournalWriter) -> Result) -> Result {
        state.withLock { _ in body(writer) }
    }

    /// Makes the next commit on the calling thread, unless that may take long.
    /// - Parameter count: the bytes of the next commit.
    /// - Returns: nil: it is left to the writer's thread.
    func commitAtOnce(
        _ count: () -> Int, _ step: (JournalWriter, @Sendable () -> Void) -> JournalWriter.Outcome
    ) -> JournalWriter.Outcome? {
        let outcome = state.withLockIfAvailable { state -> JournalWriter.Outcome? in
            let began = clock.now()
            guard let (writer, onSpace) = state.called, began >= state.slowness.pausesUntil ?? began else {
                return nil
            }
            let count = count()
            guard count <= Self.largest, writer.canWriteAtOnce(count) else { return nil }
            let outcome = step(writer, onSpace)
            let now = clock.now()
            if now - began > Self.slow { state.slowness.note(at: now, took: now - began) }
            return outcome
        }
        return outcome ?? nil
    }
}
