import ArgumentParser
import Events

struct Identify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say who somebody is.", discussion: "\(EventOptions.endings)",
        usage: "penstock identify --user ID [-p TRAIT=VALUE ...]")

    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.identify, container: "traits")
    }
}
