import ArgumentParser
import ConfigurationSyntax
import Control
import Platform

struct Top: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "ended by a key or a signal", 1: "stdin and stdout are not a terminal", 2: "not running", 3: "no permission",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Show what penstock status shows, live.",
        discussion: """
            Shows health, the journal, and a row for each source and destination, with rates as they were in the last \
            minute. It asks the daemon once a second. While the daemon is restarted, the screen says that it is not \
            running, and goes on by itself.

            Keys: q quit, s sort, r reverse the order, / filter by name, up and down select, Enter shows the details \
            of the selected row, Esc goes back, ? help.

            On terminals that are narrow, the least important columns are left out. NO_COLOR is respected.

            \(exitCodes)
            """)

    @OptionGroup var control: ControlOption

    @Option(help: ArgumentHelp("How often to ask the daemon: 500ms, 1s, 5s.", valueName: "duration"))
    var interval = Interval.usual

    struct Interval: ExpressibleByArgument {
        static let usual = Interval(duration: .seconds(1))
        static let allowed = Duration.milliseconds(100)...Duration.seconds(3600)

        let duration: Duration

        private init(duration: Duration) { self.duration = duration }

        init?(argument: String) {
            guard let duration = Quantity.duration(argument), Self.allowed.contains(duration) else { return nil }
            self.init(duration: duration)
        }

        var defaultValueDescription: String { Quantity.text(duration) }
    }

    func run() throws {
        guard let terminal = TerminalScreen() else {
            printError("penstock top needs a terminal: see penstock status")
            throw Self.exitCodes[1]
        }
        let poller = StatusPoller(socket: control.path, interval: interval.duration)
        // An error now is the command's; later ones are shown.
        do {
            try poller.askFirst()
        } catch let error as ControlClientError {
            printError("\(error)")
            throw Self.exitCodes[error.code == .permissionDenied ? 3 : 2]
        }
        poller.start()
        let style = ScreenStyle(hasColour: stdoutTakesColour, isUnicode: Self.takesUnicode)
        terminal.enter()
        defer { terminal.leave() }
        show(terminal, poller, style)
    }

    private func show(_ terminal: TerminalScreen, _ poller: StatusPoller, _ style: ScreenStyle) {
        var state = TopState()
        var keys = TopKeys()
        var frame = TopFrame(style)
        var screen = poller.screen
        frame.draw(screen, state, terminal)
        while true {
            let input = terminal.next(within: .milliseconds(50))
            var pressed: [TopState.Key] = []
            switch input {
            case .end: return
            case .redraw: frame.forget()
            case .bytes(let bytes): pressed = keys.add(bytes)
            case nil: if keys.isUndecided { pressed = keys.flush() }
            }
            for key in pressed where !state.press(key, screen.report, screen.history) { return }
            let isNew = poller.takeNews()
            if isNew { screen = poller.screen }
            if isNew || input != nil || !pressed.isEmpty { frame.draw(screen, state, terminal) }
        }
    }

    /// Whether the locale's encoding is UTF-8, as locale(7) decides.
    private static var takesUnicode: Bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { Environment.value($0) }.filter { !$0.isEmpty }
        let locale = (names.first ?? "").lowercased()
        return locale.contains("utf-8") || locale.contains("utf8")
    }
}
