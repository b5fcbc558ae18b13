#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
import Synchronization

/// Takes diagnostics. It is called in whichever thread something went wrong in, so it is to be quick.
public struct DiagnosticsHandler: Sendable {
    private let handle: @Sendable (Diagnostic) -> Void

    public init(_ handle: @escaping @Sendable (Diagnostic) -> Void) { self.handle = handle }

    public func report(_ diagnostic: Diagnostic) { handle(diagnostic) }

    /// Takes them and does nothing.
    public static let silent = DiagnosticsHandler { _ in }

    /// Writes a line for each to standard error, at most 20 in 10 seconds; then how many were left out.
    public static let standardError: DiagnosticsHandler = {
        let lines = LineLimit()
        return DiagnosticsHandler { diagnostic in
            let (left, isAllowed) = lines.take()
            if left > 0 { put("penstock: \(left) more lines like these were left out\n") }
            if isAllowed { put("penstock: \(diagnostic)\n") }
        }
    }()

    /// One system call, so that lines of several threads do not mix.
    private static func put(_ line: String) {
        var line = line
        // What cannot be written has nobody to be told.
        line.withUTF8 { text in _ = unsafe write(STDERR_FILENO, text.baseAddress, text.count) }
    }
}

/// Lets so many lines through in a time.
private final class LineLimit: Sendable {
    private struct State {
        var start: ContinuousClock.Instant?
        var lines = 0
        var left = 0
    }

    private static let lines = 20
    private static let time: Duration = .seconds(10)
    private let state = Mutex(State())

    /// - Returns: how many were left out before this one, if that is to be said now; and whether this
    ///   one may pass.
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
