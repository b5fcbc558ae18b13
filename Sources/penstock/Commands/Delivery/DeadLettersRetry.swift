import ArgumentParser
import Control
import Foundation

struct DeadLettersRetry: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Retry all current dead letters of a destination, or the selected ones.",
        discussion: """
            The events pass the destination's current routes, transforms and mapping, in parallel with live delivery. \
            An event that is rejected again becomes a dead letter again, and its attempts are added up. After a crash \
            during a retry, the events that are not settled are still dead letters, and some may be delivered twice.

            Exit status: 0 accepted (with --wait: no selected dead letter is left); 1 there are no such dead letters \
            (with --wait: some dead letters are left); 2 the daemon cannot be reached; 3 with --wait: permission was \
            denied while the command waited.

            Examples:
              penstock dead-letters retry archive --wait
              penstock dead-letters retry archive --where 'event = "Order Completed"'
            """)

    @OptionGroup var options: DeadLetterOptions

    @Flag(help: "Wait until all of them are settled.")
    var wait = false

    @Flag(help: "Print the number as JSON.")
    var json = false

    func run() throws {
        let count = try options.count("retry", options.selection())
        if json {
            print("{\"letters\":\(count)}")
        } else {
            print("\(counted(count)) of \(options.destination) \(count == 1 ? "is" : "are") being retried")
        }
        guard wait else { return }
        while true {
            let destination = try StatusQuestion(control: options.control).ask().destinations[options.destination]
            guard let letters = destination?.deadLetters, letters.isRetrying else { break }
            Thread.sleep(forTimeInterval: 0.1)
        }
        var left = 0
        try options.forEach { _ in
            left += 1
            return true
        }
        if left > 0 {
            printError(
                "\(counted(left)) \(left == 1 ? "is" : "are") left: "
                    + "see penstock dead-letters list \(options.destination)"
            )
            throw ExitCode.failure
        }
    }
}
