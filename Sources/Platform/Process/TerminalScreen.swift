import Glibc

/// The terminal of a program that draws on its whole screen: keys arrive at once and are not shown, and the lines that
/// were on the screen come back at the end. Signals are input, as in `SignalWait`. Main thread only.
package final class TerminalScreen {
    package enum Input: Sendable, Equatable {
        case bytes([UInt8])
        /// The size has changed, or another program has used the terminal meanwhile: draw everything.
        case redraw
        /// End the program: a signal asks for it, or the terminal is gone.
        case end
    }

    /// Ends the program.
    private static let endings = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    private var normal: termios?
    private var isEntered = false

    /// - Returns: nil if stdin or stdout is not a terminal, or one that cannot move its cursor.
    package init?() {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1,
            let kind = Environment.value("TERM"), !kind.isEmpty, kind != "dumb"
        else { return nil }
        var taken = Self.taken
        unsafe pthread_sigmask(SIG_BLOCK, &taken, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    deinit { leave() }

    /// Begins to draw on the screen.
    package func enter() {
        guard !isEntered else { return }
        isEntered = true
        var mode = termios()
        if unsafe tcgetattr(STDIN_FILENO, &mode) == 0 {
            // Not twice: after a stop that did not restore the terminal, its mode may be the one set here.
            if normal == nil { normal = mode }
            // Signals keep their keys: Ctrl-C, Ctrl-Z.
            mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
            // Keeps the keys that were pressed before.
            _ = unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &mode)
        }
        // The other screen, without a cursor and without wrapping.
        write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J")
    }

    /// Restores the terminal. Does nothing if it is restored already.
    package func leave() {
        guard isEntered else { return }
        isEntered = false
        write("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        if var normal {
            _ = unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &normal)
            self.normal = nil
        }
    }

    /// Columns and rows, each at least 1. 80 × 24 if the terminal does not tell.
    package var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Writes to the terminal. An error appears as the end of the input.
    package func write(_ text: String) {
        try? StandardStream.output.write(text.utf8)
    }

    /// Waits for input, but not longer than `limit`.
    /// - Returns: nil if there is none. Ctrl-Z stops the program in this call, until it is continued.
    package func next(within limit: Duration) -> Input? {
        if let input = takeSignal() { return input }
        var state = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        let milliseconds = Int32(clamping: max(limit.inNanoseconds, 0) / 1_000_000)
        if unsafe poll(&state, 1, milliseconds) == 1 {
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = unsafe read(STDIN_FILENO, &bytes, bytes.count)
            if count > 0 { return .bytes(Array(bytes.prefix(count))) }
            if count == 0 || (errno != EINTR && errno != EAGAIN) { return .end }
        }
        return takeSignal()
    }

    private func takeSignal() -> Input? {
        var taken = Self.taken
        var none = timespec(tv_sec: 0, tv_nsec: 0)
        switch unsafe sigtimedwait(&taken, nil, &none) {
        case SIGWINCH: return .redraw
        case SIGCONT:
            // Whoever stopped the program did not restore the terminal, and the shell may have.
            isEntered = false
            enter()
            return .redraw
        case SIGTSTP:
            leave()
            // Not SIGTSTP again, which is blocked. The shell sees a stopped program in both cases.
            kill(getpid(), SIGSTOP)
            enter()
            return .redraw
        case let number where Self.endings.contains(number): return .end
        default: return nil
        }
    }

    private static var taken: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in endings + [SIGTSTP, SIGCONT, SIGWINCH] { unsafe sigaddset(&set, number) }
        return set
    }
}
