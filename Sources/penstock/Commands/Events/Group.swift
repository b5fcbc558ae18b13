import ArgumentParser
import Events

struct Group: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a group event: a user belongs to a group.",
        usage: "penstock group GROUP --user ID [-p TRAIT=VALUE ...]",
        discussion: """
            \(EventOptions.exitCodes)

            Examples:
              penstock group acme --user u1 -p name="Acme Ltd" -p employees=12
            """)

    @Argument(help: "The group's id (groupId).")
    var group: String
    @OptionGroup var options: EventOptions

    func run() throws {
        try options.send(.group, [("groupId", group)], container: "traits")
    }
}
