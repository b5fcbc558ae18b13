import ArgumentParser
import Events

struct Track: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a track event: a user did something.",
        usage: "penstock track EVENT [--user ID] [--anonymous ID] [-p KEY=VALUE ...]",
        discussion: """
            \(EventOptions.exitCodes)

            Examples:
              penstock track "Order Completed" --user u1 -p total=12.5 -p currency=EUR
              penstock track "Page Printed" --anonymous visitor-81
            """)

    @Argument(help: "The event's name, for example \"Order Completed\".")
    var event: String
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.track, [("event", event)], container: "properties")
    }
}
