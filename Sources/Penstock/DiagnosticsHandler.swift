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

/// Receives diagnostics. It is called in the thread where the problem occurred, so it must return quickly.
public struct DiagnosticsHandler: Sendable {
    private let handle: @Sendable (Diagnostic) -> Void

    /// Creates a handler.
    ///
    /// - Parameter handle: Receives each diagnostic. It is called from any thread, and from several at once.
    public init(_ handle: @escaping @Sendable (Diagnostic) -> Void) { self.handle = handle }

    /// Passes a diagnostic to the handler.
    public func report(_ diagnostic: Diagnostic) { handle(diagnostic) }

    /// Ignores all diagnostics.
    public static let silent = DiagnosticsHandler { _ in }

    /// Writes one line for each diagnostic to standard error, at most 20 lines in 10 seconds, and then reports how many
    /// were suppressed.
    public static let standardError: DiagnosticsHandler = {
        let lines = LineLimit()
        return DiagnosticsHandler { diagnostic in
            let (left, isAllowed) = lines.take()
            if left > 0 {
                put("penstock: \(left) more \(left == 1 ? "diagnostic was" : "diagnostics were") suppressed\n")
            }
            if isAllowed { put("penstock: \(diagnostic)\n") }
        }
    }()

    /// Writes with one system call, so that lines of several threads do not mix.
    private static func put(_ line: String) {
        var line = line
        // A failed write to standard error cannot be reported anywhere.
        line.withUTF8 { text in _ = unsafe write(STDERR_FILENO, text.baseAddress, text.count) }
    }
}

/// Limits the number of lines per interval.
private final class LineLimit: Sendable {
    private struct State {
        var start: ContinuousClock.Instant?
        var lines = 0
        var left = 0
    }

    private static let lines = 20
    private static let time: Duration = .seconds(10)
    private let state = Mutex(State())

    /// - Returns: How many earlier lines were suppressed, if that must be reported now, and whether this line may be
    ///   written.
    func take() -> (left: Int, isAllowed: Bool) {
        state.withLock { state in
            let now = ContinuousClock.now
            var left = 0
            if state.start.map({ $0.duration(to: now) >= Self.time }) ?? true {
                left = state.left
                state = State(start: now)
            }
            state.lines += 1
            if state.lines > Self.lines { state.left += 1 }
            return (left, state.lines <= Self.lines)
        }
    }
}
