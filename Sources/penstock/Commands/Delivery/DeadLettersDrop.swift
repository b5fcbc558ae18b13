import ArgumentParser

struct DeadLettersDrop: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Delete dead letters: the selected ones, or all with --all.",
        discussion: """
            Deleted dead letters cannot be restored.

            Exit status: 0 deleted, 1 there are no such dead letters, 2 the daemon cannot be reached.

            Examples:
              penstock dead-letters drop archive --where 'event = "Heartbeat"'
              penstock dead-letters drop archive --all
            """)

    @OptionGroup var options: DeadLetterOptions

    @Flag(help: "Delete all dead letters of the destination.")
    var all = false

    @Flag(help: "Print the number as JSON.")
    var json = false

    func validate() throws {
        let isChosen = !options.letters.isEmpty || options.filter != nil
        if all, isChosen { throw ValidationError("--all cannot be combined with positions, message ids or --where") }
        if !all, !isChosen {
            throw ValidationError("select dead letters by position, message id or --where, or give --all")
        }
    }

    func run() throws {
        let count = try options.count("drop", options.selection())
        print(json ? "{\"letters\":\(count)}" : "\(counted(count)) of \(options.destination) dropped")
    }
}
