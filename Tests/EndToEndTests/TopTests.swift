import Control
import Foundation
import Platform
import TestSupport
import Testing

/// `penstock top` in a terminal, with the real daemon.
@Suite struct TopTests {
    private static let archive = """
        routes: [ { to: [archive, zebra] } ]
        destinations: { archive: { file: archive.ndjson }, zebra: { file: zebra.ndjson } }
        """

    private func begin(_ terminal: TestTerminal, _ daemon: TestDaemon) throws {
        terminal.type(
            "\(TestDaemon.binaries)/penstock top --interval 100ms --control \(daemon.control); stty -a | head -n 1\n")
        try terminal.wait("top runs") { $0.isFullScreen && $0.text.contains("healthy") }
    }

    /// The terminal is as before the program.
    private func expectRestored(_ terminal: TestTerminal) throws {
        try terminal.wait("the shell is back") { !$0.isFullScreen && $0.text.contains("speed") }
        #expect(terminal.cursorIsVisible && terminal.wraps)
        #expect(terminal.unknown == [], "\(terminal.unknown)")
        terminal.type("stty -a\n")
        try terminal.wait("the settings") { $0.text.contains(" echo ") || $0.text.contains(" -echo ") }
        #expect(terminal.text.contains(" icanon ") && terminal.text.contains(" echo "), "\(terminal.text)")
    }

    @Test func `keys sort, filter and show details, and q restores the terminal`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let terminal = try TestTerminal()
        try begin(terminal, daemon)
        #expect(terminal.lines.count == 24 && terminal.text.contains("journal ok"))
        #expect(!terminal.cursorIsVisible && !terminal.wraps && terminal.hasColour)

        // It follows the daemon.
        try EventClient(daemon, acknowledgements: false).send(events(0..<1234))
        try daemon.settle(accepted: 1234)
        try terminal.wait("the count") { $0.lines.contains { $0.hasPrefix("apps") && $0.contains("1,234") } }

        terminal.type("r")
        try terminal.wait("the order is reversed") { terminal in
            let lines = terminal.lines
            guard let first = lines.firstIndex(where: { $0.hasPrefix("zebra") }),
                let second = lines.firstIndex(where: { $0.hasPrefix("archive") })
            else { return false }
            return first < second
        }
        terminal.type("/zeb\r")
        try terminal.wait("the filter") { !$0.text.contains("archive") && $0.text.contains("filter: zeb") }
        terminal.type("\r")
        try terminal.wait("details") { $0.text.contains("destination zebra") && $0.text.contains("position 1234") }
        terminal.type("\u{1B}")
        try terminal.wait("the list") { $0.text.contains("DESTINATION") }
        terminal.type("?")
        try terminal.wait("help") { $0.text.contains("sort by the next column") }

        let erasures = terminal.erasures
        terminal.resize(columns: 40, rows: 8)
        try terminal.wait("the small screen") { $0.lines.count == 8 && $0.lines.last?.hasPrefix("Esc back") == true }
        terminal.type("\u{1B}")
        terminal.resize(columns: 200, rows: 50)
        try terminal.wait("the large screen") {
            $0.lines.last?.hasPrefix("q quit") == true && $0.text.contains("zebra")
        }
        #expect(terminal.erasures <= erasures + 4, "the screen is erased at a change of its size only")

        terminal.type("q")
        try expectRestored(terminal)
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: ["\u{3}", "\u{1C}"]) func `an interrupt restores the terminal`(key: String) throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let terminal = try TestTerminal()
        try begin(terminal, daemon)
        terminal.type(key)
        try expectRestored(terminal)
        #expect(daemon.terminate() == 0)
    }

    @Test func `Ctrl-Z suspends it with a restored terminal, and fg continues it`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let terminal = try TestTerminal()
        terminal.type("\(TestDaemon.binaries)/penstock top --interval 100ms --control \(daemon.control)\n")
        try terminal.wait("top runs") { $0.isFullScreen && $0.text.contains("healthy") }
        terminal.type("\u{1A}")
        try terminal.wait("the shell is back") { !$0.isFullScreen && $0.text.contains("Stopped") }
        terminal.type("stty -a\n")
        try terminal.wait("the settings are restored") { $0.text.contains(" icanon ") && $0.text.contains(" echo ") }
        #expect(terminal.cursorIsVisible)
        terminal.type("fg\n")
        try terminal.wait("top is back") { $0.isFullScreen && $0.text.contains("healthy") }
        terminal.clear()
        terminal.type("\u{1A}")
        try terminal.wait("the shell is back again") { !$0.isFullScreen && $0.text.contains("Stopped") }
        terminal.clear()
        // A key that is pressed before top has drawn its screen again counts, too.
        terminal.type("fg; stty -a | head -n 1\nq")
        try expectRestored(terminal)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a restart of the daemon is shown, and passes`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let terminal = try TestTerminal(environment: ["NO_COLOR": "1", "LANG": "C"])
        try begin(terminal, daemon)
        daemon.kill9()
        try terminal.wait("it is not running") { $0.lines[0].contains("not running") && $0.text.contains("archive") }
        try daemon.start()
        try terminal.wait("it runs again") { !$0.text.contains("not running") && $0.text.contains("healthy") }
        #expect(!terminal.hasColour)
        #expect(terminal.text.allSatisfy { $0.isASCII }, "\(terminal.text)")
        terminal.type("q")
        try expectRestored(terminal)
        #expect(daemon.terminate() == 0)
    }

    @Test func `without a terminal, a daemon or permission, the status is the reason`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        let piped = try Program.penstock(["top", "--control", daemon.control])
        #expect(piped.status == 1 && piped.errors == "penstock top needs a terminal: see penstock status\n")
        #expect(try Program.penstock(["top", "--interval", "0"]).status == 64)
        let terminal = try TestTerminal()
        terminal.type("\(TestDaemon.binaries)/penstock top --control \(daemon.control); echo status $?\n")
        try terminal.wait("it ends") { $0.text.contains("status 2") }
        #expect(terminal.text.contains("penstockd is not running") && !terminal.isFullScreen)
    }
}
