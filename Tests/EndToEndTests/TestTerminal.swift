import Foundation
import Glibc
import Platform

/// A terminal with an interactive shell in it, as a person has over ssh: keys go in, and the screen can be read. It
/// understands the escape sequences that `penstock top` uses, and fails on others.
final class TestTerminal {
    private let master: Int32
    private let process = Process()
    private(set) var columns: Int
    private(set) var rows: Int
    private var normal: [[Character]]
    private var other: [[Character]]
    private var isOther = false
    private var place = (row: 0, column: 0)
    private var unread: [UInt8] = []
    private(set) var cursorIsVisible = true
    private(set) var wraps = true
    /// Colours that were used.
    private(set) var hasColour = false
    /// Sequences that it does not know.
    private(set) var unknown: [String] = []
    /// How often the whole screen was erased.
    private(set) var erasures = 0

    init(columns: Int = 80, rows: Int = 24, environment: [String: String] = [:]) throws {
        self.columns = columns
        self.rows = rows
        normal = Array(repeating: Array(repeating: " ", count: columns), count: rows)
        other = normal
        unsafe master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard master >= 0 else { throw Failure("cannot open a terminal: \(errno)") }
        var (number, lock) = (Int32(0), Int32(0))
        // TIOCSPTLCK and TIOCGPTN (ioctl_tty(2)).
        guard unsafe ioctl(master, 0x4004_5431, &lock) == 0, unsafe ioctl(master, 0x8004_5430, &number) == 0 else {
            throw Failure("cannot unlock a terminal: \(errno)")
        }
        let slave = unsafe open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw Failure("cannot open /dev/pts/\(number): \(errno)") }
        let handle = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        process.arguments = ["--ctty", "--wait", "bash", "--norc", "--noprofile", "-i"]
        var variables = ["PATH": "/usr/bin:/bin", "TERM": "xterm", "PS1": "$ ", "LANG": "C.UTF-8", "HOME": "/"]
        variables.merge(environment) { $1 }
        process.environment = variables
        process.standardInput = handle
        process.standardOutput = handle
        process.standardError = handle
        setSize()
        try process.run()
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
        try wait("the prompt") { $0.text.contains("$") }
    }

    deinit {
        close(master)
        // The end of the terminal ends the shell.
        let deadline = Date(timeIntervalSinceNow: 10)
        while process.isRunning, Date() < deadline { usleep(2000) }
        if process.isRunning { process.terminate() }
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe write(master, bytes, bytes.count)
    }

    /// Forgets what the shell's screen shows, so that a later `wait` does not find it.
    func clear() {
        read()
        normal = Array(repeating: Array(repeating: " ", count: columns), count: rows)
    }

    func resize(columns: Int, rows: Int) {
        (self.columns, self.rows) = (columns, rows)
        func fit(_ screen: [[Character]]) -> [[Character]] {
            (0..<rows).map { row in
                (0..<columns).map { row < screen.count && $0 < screen[row].count ? screen[row][$0] : " " }
            }
        }
        (normal, other) = (fit(normal), fit(other))
        place = (min(place.row, rows - 1), min(place.column, columns - 1))
        setSize()
    }

    private func setSize() {
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = unsafe ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// The screen's lines, without blanks at their ends.
    var lines: [String] {
        read()
        return (isOther ? other : normal).map { line in
            var line = line[...]
            while line.last == " " { line.removeLast() }
            return String(line)
        }
    }

    var text: String { lines.joined(separator: "\n") }
    /// Whether a program draws on the whole screen.
    var isFullScreen: Bool {
        read()
        return isOther
    }

    /// Polls until the screen is as described.
    func wait(_ what: String, _ condition: (TestTerminal) -> Bool) throws {
        do {
            try eventually(what) { condition(self) }
        } catch {
            throw Failure("\(error); the screen:\n\(text)")
        }
    }

    // MARK: The screen

    private func read() {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe Glibc.read(master, &bytes, bytes.count)
            guard count > 0 else { break }
            unread += bytes.prefix(count)
        }
        while let count = step() { unread.removeFirst(count) }
    }

    /// Performs the first character or sequence.
    /// - Returns: its bytes; nil: it is not complete.
    private func step() -> Int? {
        guard let byte = unread.first else { return nil }
        switch byte {
        case 0x1B: return sequence()
        case 0x0D: place.column = 0
        case 0x0A: feed()
        case 0x08: place.column = max(0, place.column - 1)
        case 0x07, 0x0F, 0x0E: break
        case 0x20...0x7E: put(Character(Unicode.Scalar(byte)))
        case 0xC2...0xF4:
            let count = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
            guard unread.count >= count else { return nil }
            put(String(decoding: unread.prefix(count), as: UTF8.self).first ?? "?")
            return count
        default: unknown.append("byte \(byte)")
        }
        return 1
    }

    private func feed() {
        guard place.row == rows - 1 else { return place.row += 1 }
        change {
            $0.removeFirst(); $0.append(Array(repeating: " ", count: columns))
        }
    }

    private func change(_ change: (inout [[Character]]) -> Void) {
        if isOther { change(&other) } else { change(&normal) }
    }

    private func put(_ character: Character) {
        if place.column >= columns {
            if wraps {
                place.column = 0
                feed()
            } else {
                place.column = columns - 1
            }
        }
        let at = place
        change { $0[at.row][at.column] = character }
        place.column += 1
    }

    private func sequence() -> Int? {
        guard unread.count >= 2 else { return nil }
        guard unread[1] == UInt8(ascii: "[") else {
            unknown.append("ESC \(unread[1])")
            return 2
        }
        guard let end = unread.dropFirst(2).firstIndex(where: { 0x40...0x7E ~= $0 }) else { return nil }
        let arguments = String(decoding: unread[2..<end], as: UTF8.self)
        let numbers = arguments.split(separator: ";").compactMap { Int($0) }
        switch (unread[end], arguments) {
        case (UInt8(ascii: "H"), _):
            place = (min((numbers.first ?? 1) - 1, rows - 1), min((numbers.dropFirst().first ?? 1) - 1, columns - 1))
        case (UInt8(ascii: "K"), ""):
            let at = (row: place.row, column: min(place.column, columns - 1))
            change { for column in at.column..<columns { $0[at.row][column] = " " } }
        case (UInt8(ascii: "J"), "2"):
            erasures += 1
            change { $0 = Array(repeating: Array(repeating: " ", count: columns), count: rows) }
        case (UInt8(ascii: "m"), _): hasColour = hasColour || numbers.contains { 30...37 ~= $0 }
        case (UInt8(ascii: "h"), "?1049"):
            isOther = true
            other = Array(repeating: Array(repeating: " ", count: columns), count: rows)
        case (UInt8(ascii: "l"), "?1049"): isOther = false
        case (UInt8(ascii: "h"), "?25"), (UInt8(ascii: "l"), "?25"): cursorIsVisible = unread[end] == UInt8(ascii: "h")
        case (UInt8(ascii: "h"), "?7"), (UInt8(ascii: "l"), "?7"): wraps = unread[end] == UInt8(ascii: "h")
        // The shell's own: bracketed paste.
        case (UInt8(ascii: "h"), "?2004"), (UInt8(ascii: "l"), "?2004"): break
        default: unknown.append(String(decoding: unread[1...end], as: UTF8.self))
        }
        return end + 1
    }
}
