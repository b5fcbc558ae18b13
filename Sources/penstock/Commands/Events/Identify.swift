import ArgumentParser
import Events

struct Identify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send an identify event: the traits of a user.",
        usage: "penstock identify --user ID [-p TRAIT=VALUE ...]",
        discussion: """
            \(EventOptions.exitCodes)

            Examples:
              penstock identify --user u1 -p email=ada@example.com -p plan=pro
            """)

    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.identify, container: "traits")
    }
}
