import ArgumentParser
import Events

struct Page: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record that a page was viewed.",
        usage: "penstock page [NAME] [--user ID] [-p KEY=VALUE ...]",
        discussion: "\(EventOptions.endings)")

    @Argument(help: "The page's name.")
    var name: String?
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.page, [("name", name)], container: "properties")
    }
}
