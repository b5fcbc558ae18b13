import ArgumentParser
import Events

struct Identify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say who somebody is.",
        usage: "penstock identify --user ID [-p TRAIT=VALUE ...]",
        discussion: "\(EventOptions.endings)")

    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.identify, container: "traits")
    }
}
