import ArgumentParser
import Events

struct Alias: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send an alias event: two user ids are the same person.",
        usage: "penstock alias PREVIOUS --user ID",
        discussion: """
            \(EventOptions.exitCodes)

            Examples:
              penstock alias visitor-81 --user u1
            """)

    @Argument(help: "The previous id (previousId).")
    var previous: String
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.alias, [("previousId", previous)], container: nil)
    }
}
