import ArgumentParser
import Events

struct Screen: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a screen event: a user viewed a screen of an app.",
        usage: "penstock screen [NAME] [--user ID] [-p KEY=VALUE ...]",
        discussion: """
            \(EventOptions.exitCodes)

            Examples:
              penstock screen Basket --user u1 -p items=3
            """)

    @Argument(help: "The screen's name.")
    var name: String?
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.screen, [("name", name)], container: "properties")
    }
}
