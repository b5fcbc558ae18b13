import ArgumentParser
import Control
import Glibc

struct DeadLettersRetry: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Try dead letters again: all that there are now, or those chosen.",
        discussion: """
            They go through the destination's present routes, transforms and mapping, beside live delivery. One that \
            is refused once more is a dead letter again, its attempts added up. After a crash in the middle, what \
            had not been settled is a dead letter still, and some may be delivered twice.

            Exit status: 0 accepted, or with --wait: none of them is left; 1 there are no such letters, or with \
            --wait: some were refused again; 2 not running.
            """)

    @OptionGroup var options: DeadLetterOptions

    @Flag(help: "Wait until every one of them is settled.")
    var wait = false

    @Flag(help: "Print how many as JSON.")
    var json = false

    func run() throws {
        let count = try options.count("retry", options.selection())
        if json {
            print("{\"letters\":\(count)}")
        } else {
            print("\(counted(count)) of \(options.destination) \(count == 1 ? "is" : "are") tried again")
        }
        guard wait else { return }
        while true {
            let destination = try StatusQuestion(control: options.control).ask().destinations[options.destination]
            guard let letters = destination?.deadLetters, letters.isRetrying else { break }
            usleep(100_000)
        }
        var left = 0
        try options.forEach { _ in
            left += 1
            return true
        }
        if left > 0 {
            printError("\(counted(left)) \(left == 1 ? "is" : "are") left: penstock dead-letters list \(options.destination)")
            throw ExitCode.failure
        }
    }
}
