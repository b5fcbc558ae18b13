import Platform
import Synchronization

/// The writer, for the threads that may call it, one at a time: its own, and one that commits at once what it has
/// appended. Under a light load, that saves two switches of threads for each commit. Any thread.
final class WriterTurn: Sendable {
    /// Larger commits are left to the writer's thread, so that clients are served meanwhile.
    static let largest = 64 << 10
    /// After a commit that took longer, the disk counts as slow: the next ones are left to the writer's thread.
    static let slow = Duration.milliseconds(1)
    /// For how long. Doubled by each slow commit that follows, and back to the first by a quick one.
    static let pauses = Duration.seconds(1)...Duration.seconds(64)

    private struct State {
        /// Nil before the start and after the end.
        var called: (writer: JournalWriter, onSpace: @Sendable () -> Void)?
        var pausesUntil: Instant?
        var pause = pauses.lowerBound
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

    /// Makes a commit of this many bytes on the calling thread, unless that may take long.
    /// - Returns: nil: it is left to the writer's thread.
    func commitAtOnce(
        _ count: Int, _ step: (JournalWriter, @Sendable () -> Void) -> JournalWriter.Outcome
    ) -> JournalWriter.Outcome? {
        guard count <= Self.largest else { return nil }
        let outcome = state.withLockIfAvailable { state -> JournalWriter.Outcome? in
            let began = clock.now()
            guard let (writer, onSpace) = state.called, writer.canWriteAtOnce(count),
                began >= state.pausesUntil ?? began
            else { return nil }
            let outcome = step(writer, onSpace)
            let now = clock.now()
            if now - began > Self.slow {
                state.pausesUntil = now + state.pause
                state.pause = min(state.pause * 2, Self.pauses.upperBound)
            } else {
                state.pause = Self.pauses.lowerBound
            }
            return outcome
        }
        return outcome ?? nil
    }
}
