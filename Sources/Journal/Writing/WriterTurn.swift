import Platform
import Synchronization

/// The writer, for the threads that may call it, one at a time: its own, and one that commits at once what it has
/// appended. Under a light load, that saves two switches of threads for each commit. Any thread.
final class WriterTurn: Sendable {
    /// Larger commits are left to the writer's thread, so that clients are served meanwhile.
    static let largest = 64 << 10
    /// After a commit that took longer, the disk counts as slow: the next ones are left to the writer's thread. Events
    /// that come during a commit are stored by the next one in any case, so they hardly wait longer. All else that the
    /// calling thread does may wait for so long.
    static let slow = Duration.milliseconds(20)
    static let longestPause = Duration.seconds(64)

    /// For how long the disk counts as slow after such a commit: up to `longestPause`, so long that slow commits take a
    /// twentieth of the time at most.
    static func pause(after commit: Duration) -> Duration { min(min(commit, longestPause) * 19, longestPause) }

    private struct State {
        /// Nil before the start and after the end.
        var called: (writer: JournalWriter, onSpace: @Sendable () -> Void)?
        var pausesUntil: Instant?
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
            guard let (writer, onSpace) = state.called, began >= state.pausesUntil ?? began else { return nil }
            let count = count()
            guard count <= Self.largest, writer.canWriteAtOnce(count) else { return nil }
            let outcome = step(writer, onSpace)
            let now = clock.now()
            if now - began > Self.slow { state.pausesUntil = now + Self.pause(after: now - began) }
            return outcome
        }
        return outcome ?? nil
    }
}
