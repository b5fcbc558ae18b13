import Glibc

/// One line to stderr: diagnostics, so that stdout holds results alone.
func printError(_ line: String) {
    writeError(line + "\n")
}

func writeError(_ text: String) {
    let bytes = Array(text.utf8)
    // A closed stderr is nobody's concern.
    _ = unsafe write(STDERR_FILENO, bytes, bytes.count)
}

/// Whether results on stdout may be coloured: a terminal, and no `NO_COLOR` (no-color.org).
var stdoutTakesColour: Bool {
    unsafe isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil
}
