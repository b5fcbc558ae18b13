import ArgumentParser
import Events

struct Screen: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record that a screen of an app was viewed.",
        usage: "penstock screen [NAME] [--user ID] [-p KEY=VALUE ...]",
        discussion: "\(EventOptions.endings)")

    @Argument(help: "The screen's name.")
    var name: String?
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.screen, [("name", name)], container: "properties")
    }
}
