import ArgumentParser
import Events

struct Track: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record that somebody did something.",
        usage: "penstock track EVENT [--user ID] [--anonymous ID] [-p KEY=VALUE ...]",
        discussion: "\(EventOptions.endings)")

    @Argument(help: "The event's name, for example \"Order Completed\".")
    var event: String
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.track, [("event", event)], container: "properties")
    }
}
