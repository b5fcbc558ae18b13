import ArgumentParser
import Control
import Foundation
import Platform

struct Tap: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "ended by --limit, by Ctrl-C, or because nobody reads stdout any more",
        1: "the request was refused: there is no such destination, or too many taps run",
        2: "not running, or the daemon has ended the tap", 3: "no permission",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Show events as they pass, one JSON object per line.",
        discussion: """
            Each line has the stage that the event has reached, what is known about it, and the event:
              accepted  A source's event is on disk. The event is shown as it was sent.
              routed    A destination's routes, filters and transforms have decided about an event. outcome is routed, \
            filtered or rejected. The event is shown as the destination will get it; if it does not get the event, as \
            it was sent.
              sent      A destination was given an event, and has answered. outcome is delivered, retry, held, \
            too_large, some_rejected or rejected. The event is shown as it was given, with secrets replaced by [hidden].
              refused   A source has refused an event, or an event has become a dead letter.

            Without --stage and --refused, the stage is accepted; with --destination, it is sent. At every stage, \
            --where is applied to events as they were sent. What a source has refused is no event, so it is shown \
            only without --where and --destination.

            A tap never slows the daemon. If more events pass than it shows (5,000 per second), or if stdout is read \
            too slowly, it leaves events out and prints their number to stderr. It shows the events from its start on; \
            earlier ones are in the journal: penstock journal dump.

            \(exitCodes)

            Examples:
              penstock tap --where 'userId = "ada"'
              penstock tap --destination mixpanel --limit 10 | jq -c '[.outcome, .reason, .event]'
              penstock tap --destination mixpanel --stage routed | jq -c 'select(.outcome == "filtered") | .reason'
              penstock tap --refused
            """)

    @OptionGroup var control: ControlOption

    @Option(name: .customLong("where"), help: "Only events that match this filter (FQL).")
    var filter: String?

    @Option(help: ArgumentHelp("Only what passes this destination.", valueName: "name"))
    var destination: String?

    @Option(
        help: ArgumentHelp(
            "Only this stage: accepted, routed, sent or refused. Can be given several times.", valueName: "stage"))
    var stage: [TapOrder.Stage] = []

    @Flag(help: "Only what is refused: the same as --stage refused.")
    var refused = false

    @Option(help: "End after this many lines.")
    var limit: Int?

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit cannot be below 1") }
        if destination != nil, stage == [.accepted], !refused {
            throw ValidationError("--stage accepted cannot be combined with --destination: no destination has it yet")
        }
    }

    func run() throws {
        if let filter { _ = try FilterArgument.parse(filter) }
        let output = TapOutput()
        output.watchForEnd()
        let order = TapOrder(stages: stages, destination: destination, condition: filter, limit: limit)
        if StandardStream.error.isTerminal, StandardStream.output.isTerminal {
            printError("events are shown as they pass; Ctrl-C ends")
        }
        let answer: ControlAnswer
        do {
            answer = try ControlClient(socket: control.path).lines(TapOrder.path, query: order.query) {
                output.take($0)
            }
        } catch {
            try output.finish()
            printError("\(error)")
            throw Self.exitCodes[error.code == .permissionDenied ? 3 : 2]
        }
        try output.finish()
        guard answer.isSuccess else {
            printError(answer.error)
            throw Self.exitCodes[1]
        }
        if let ended = output.ended {
            printError("penstockd has ended the tap: \(ended)")
            throw Self.exitCodes[2]
        }
    }

    private var stages: Set<TapOrder.Stage> {
        let named = Set(stage).union(refused ? [.refused] : [])
        return named.isEmpty ? [destination == nil ? .accepted : .sent] : named
    }
}

extension TapOrder.Stage: ExpressibleByArgument {}
