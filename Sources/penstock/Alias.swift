import ArgumentParser
import Events

struct Alias: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say that two ids are one person.", discussion: "\(EventOptions.endings)",
        usage: "penstock alias PREVIOUS --user ID")

    @Argument(help: "The id used so far (previousId).")
    var previous: String
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.alias, [("previousId", previous)], container: nil)
    }
}
