import ArgumentParser
import Events

struct Group: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say which group somebody belongs to.",
        usage: "penstock group GROUP --user ID [-p TRAIT=VALUE ...]",
        discussion: "\(EventOptions.endings)")

    @Argument(help: "The group's id (groupId).")
    var group: String
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.group, [("groupId", group)], container: "traits")
    }
}
