import ArgumentParser
import Control
import Events
import Foundation
import Platform

struct Replay: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send events from the journal to a destination again.",
        discussion: """
            Selects events by receive time. They pass the destination's current routes, transforms and mapping again, \
            with the same message ids and with context.penstock.replay set to true. `dedupe` and `throttle` do not \
            drop an event because it was delivered before. The replay runs in parallel with live delivery, which has \
            priority. It continues after a restart of the daemon.

            A time is RFC 3339 (2026-01-31T12:00:00Z), a date (2026-01-31, from midnight UTC), or an age: 24h, 7d.

            Exit status: 0 accepted (with --wait: done); 1 not accepted, or cancelled; 2 the daemon cannot be reached; \
            3 accepted, but the journal no longer holds the beginning of the range (with --list, or while --wait \
            waits: also permission was denied).

            Examples:
              penstock replay archive --from 7d --dry-run
              penstock replay archive --from 2026-01-31 --until 2026-02-01 --wait
              penstock replay archive --from 24h --where 'type = "track"' --rate 500
              penstock replay --list
            """)

    /// `2026-01-31T12:00:00Z`, `2026-01-31`, `24h`, `-24h`.
    struct Time: ExpressibleByArgument {
        /// For the help of an option, which is also shown when its value is invalid.
        static let forms = "7d (ago), 2026-01-31 or 2026-01-31T12:00:00Z"

        var nanoseconds: Int64

        init?(argument: String) {
            if let time = Timestamp.parse(argument) {
                nanoseconds = time
            } else if let age = Ago.duration(argument) {
                nanoseconds = SystemClock().wallClock() &- age.inNanoseconds
            } else {
                return nil
            }
        }
    }

    @OptionGroup var control: ControlOption

    @Argument(help: "The destination's name.", completion: .runningDestination)
    var destination: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("The earliest receive time: \(Time.forms).", valueName: "time"))
    var from: Time?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The end of the range, exclusive: \(Time.forms). Default: now.", valueName: "time"))
    var until: Time?

    @Option(name: .customLong("where"), help: "Only events that match this filter (FQL).")
    var filter: String?

    @Option(
        help: ArgumentHelp(
            "The maximum events per second. Default: replay.events_per_second of the destination.", valueName: "events")
    )
    var rate: Int?

    @Flag(help: "Count the events and send nothing.")
    var dryRun = false

    @Flag(help: "Wait until the replay is done.")
    var wait = false

    @Flag(help: "Cancel the current replay.")
    var cancel = false

    @Flag(help: "Show the current or last replay of every destination.")
    var list = false

    @Flag(help: "Print results as JSON.")
    var json = false

    func validate() throws {
        if list {
            guard destination == nil, from == nil, !cancel, !dryRun else {
                throw ValidationError("--list cannot be combined with a destination, a range, --cancel or --dry-run")
            }
            return
        }
        guard destination != nil else { throw ValidationError("give a destination, or --list") }
        if cancel {
            guard from == nil, !dryRun else {
                throw ValidationError("--cancel cannot be combined with --from or --dry-run")
            }
        } else if from == nil {
            throw ValidationError("give the start of the range, such as --from 24h or --from 2026-01-31")
        }
        if let rate, !ReplayOrder.rates.contains(rate) {
            throw ValidationError(
                "--rate \(rate) must be from \(ReplayOrder.rates.lowerBound) to \(ReplayOrder.rates.upperBound)")
        }
        if dryRun, wait { throw ValidationError("--dry-run always waits: leave out --wait") }
    }

    func run() throws {
        if list { return try ReplayList(control: control, json: json).print() }
        guard let destination else { return }
        if cancel { return try end(destination) }
        guard let from else { return }
        if let filter { _ = try FilterArgument.parse(filter) }
        let order = ReplayOrder(
            destination: destination, from: from.nanoseconds, until: until?.nanoseconds, condition: filter,
            eventsPerSecond: rate)
        if dryRun { return try count(order) }

        let answer = try post("/replay", body: [UInt8](try JSONEncoder().encode(order)))
        let report = try answer.decode(ReplayReport.self)
        if json, !wait { print(String(decoding: answer.body, as: UTF8.self), terminator: "") }
        if !json { print("replay \(report.id ?? "") to \(destination): positions \(report.start) to \(report.end)") }
        tellMissing(report)
        if wait, let id = report.id {
            try ReplayWait(control: control, destination: destination, id: id, json: json).run()
        }
        if report.missingSeconds > 0 { throw ExitCode(3) }
    }

    private func end(_ destination: String) throws {
        let answer = try post("/replay/cancel", query: ["destination": destination])
        if json {
            print(String(decoding: answer.body, as: UTF8.self), terminator: "")
        } else {
            print("the replay to \(destination) was cancelled")
        }
    }

    private func post(_ path: String, query: [String: String] = [:], body: [UInt8] = []) throws -> ControlAnswer {
        let answer = try asking {
            try ControlClient(socket: control.path).post(path, query: query, body: body, timeout: .seconds(60))
        }
        guard answer.isSuccess else { throw ReportedError(answer.error) }
        return answer
    }

    private func tellMissing(_ report: ReplayReport) {
        guard report.missingSeconds > 0 else { return }
        let hours = (report.missingSeconds / 360).rounded(.up) / 10
        printError("the journal no longer holds the first \(hours) h of that range (journal.retain)")
    }

    private func count(_ order: ReplayOrder) throws {
        let last = LastReport()
        let body = [UInt8](try JSONEncoder().encode(order))
        let answer = try asking {
            try ControlClient(socket: control.path).postForLines("/replay/count", body: body, timeout: .seconds(60)) {
                last.take($0)
            }
        }
        last.clear()
        guard answer.isSuccess else { throw ReportedError(answer.error) }
        guard let report = last.report, let counts = report.counts, report.isWhole == true else {
            throw ReportedError("the daemon stopped before all events were counted")
        }
        if json {
            print(String(decoding: try report.line(), as: UTF8.self), terminator: "")
        } else {
            print(
                "\(Readable.grouped(counts.delivered)) of \(Readable.grouped(counts.read)) events would be sent;"
                    + " \(Readable.grouped(counts.filtered)) filtered out,"
                    + " \(Readable.grouped(counts.rejected)) would become dead letters"
            )
        }
        tellMissing(report)
        if report.missingSeconds > 0 { throw ExitCode(3) }
    }
}

/// Takes the progress lines of a dry run: shows them as a bar and keeps the last one. One thread at a time.
private final class LastReport: @unchecked Sendable {
    // Unchecked: the command reads `report` only after the client's thread has ended.
    private(set) var report: ReplayReport?
    var bar: ProgressBar?

    func take(_ line: [UInt8]) -> Bool {
        guard let next = try? JSONDecoder().decode(ReplayReport.self, from: Data(line)) else { return false }
        report = next
        var bar = self.bar ?? ProgressBar(total: Int(clamping: next.end - min(next.start, next.end)))
        bar.show(
            done: Int(clamping: next.counts?.read ?? 0), note: "\(next.counts?.delivered ?? 0) events would be sent")
        self.bar = bar
        return true
    }

    func clear() { bar?.clear() }
}

/// Parses an age: `24h`, or `-24h` for the same.
enum Ago {
    static func duration(_ text: String) -> Duration? {
        let digits = text.drop { $0 == "-" }.prefix { $0.isASCII && $0.isNumber }
        guard text.hasPrefix("-") ? text.dropFirst().first != "-" : true, let number = Int64(digits), number > 0 else {
            return nil
        }
        let seconds: Int64
        switch text.drop(while: { $0 == "-" }).dropFirst(digits.count) {
        case "s": seconds = 1
        case "m": seconds = 60
        case "h": seconds = 3600
        case "d": seconds = 86_400
        case "w": seconds = 7 * 86_400
        default: return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: seconds)
        // No journal holds more than a century.
        return overflow || product > 100 * 366 * 86_400 ? nil : .seconds(product)
    }
}
