import Journal
import Platform

/// Writes a line to stderr. Diagnostics are written there, so that stdout holds only results.
func printError(_ line: String) {
    writeError(line + "\n")
}

/// With the remedy, if this user may not read the journal.
func printError(_ error: any Error) {
    let isForbidden = (error as? JournalError)?.underlying?.isForbidden == true
    printError("\(error)" + (isForbidden ? ": run this command as root (sudo), or as the daemon's user" : ""))
}

func writeError(_ text: String) {
    // An error is ignored: nothing is left to report it to.
    try? StandardStream.error.write(text.utf8)
}

/// Whether results on stdout may be coloured: stdout is a terminal and `NO_COLOR` is not set (no-color.org).
var stdoutTakesColour: Bool {
    StandardStream.output.isTerminal && Environment.value("NO_COLOR") == nil
}
