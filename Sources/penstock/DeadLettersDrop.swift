import ArgumentParser
import Glibc

struct DeadLettersDrop: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Remove dead letters for ever: those chosen, or with --all all of them.",
        discussion: "Exit status: 0 they are gone, 1 there are no such letters.")

    @OptionGroup var options: DeadLetterOptions

    @Flag(help: "All that the destination has.")
    var all = false

    @Flag(help: "Print how many as JSON.")
    var json = false

    func validate() throws {
        let isChosen = !options.letters.isEmpty || options.filter != nil
        if all, isChosen { throw ValidationError("--all, or some chosen: not both") }
        if !all, !isChosen {
            throw ValidationError("say which: positions, message ids or --where; or --all")
        }
    }

    func run() throws {
        let count = try options.count("drop", options.selection())
        print(json ? "{\"letters\":\(count)}" : "\(counted(count)) of \(options.destination) dropped")
    }
}
