import ArgumentParser
import Events

struct Page: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a page event: a user viewed a web page.",
        usage: "penstock page [NAME] [--user ID] [-p KEY=VALUE ...]",
        discussion: """
            \(EventOptions.exitCodes)

            Examples:
              penstock page Pricing --user u1 -p url=https://shop.example/pricing
            """)

    @Argument(help: "The page's name.")
    var name: String?
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.page, [("name", name)], container: "properties")
    }
}
