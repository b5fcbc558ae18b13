import ArgumentParser
import Events

struct Alias: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say that two ids are one person.",
        usage: "penstock alias PREVIOUS --user ID",
        discussion: "\(EventOptions.endings)")

    @Argument(help: "The id used so far (previousId).")
    var previous: String
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.alias, [("previousId", previous)], container: nil)
    }
}
