import ArgumentParser
import DaemonConfiguration
import Explanation
import Foundation
import Journal
import Platform

struct Diff: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "no change", 1: "at least one destination would get something else",
        2: "a configuration is not valid, or the journal or the daemon's answer cannot be read",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Show what another configuration would change for the events that the journal keeps.",
        discussion: """
            Sends the journal's events through the running configuration and a new one, and reports by destination how \
            many events are added, lost, changed, or become dead letters, with samples of the final requests. Nothing \
            is sent, and the daemon's files are only read, past the page cache and with the lowest priority. The \
            command reads no secrets and prints their names instead.

            The daemon tells its running configuration. If it does not run, the installed configuration is compared, \
            or the one that --against names. Events were received under the sources and the tracking plan of their \
            time, so changes of these two are not compared. Transforms that depend on earlier events (dedupe, \
            throttle) see the same events under both configurations.

            A time is RFC 3339 (2026-01-31T12:00:00Z), a date (2026-01-31, from midnight UTC), or an age: 24h, 7d.

            \(exitCodes)

            Examples:
              penstock diff
              penstock diff --config new.yaml --from 24h
              penstock diff --config new.yaml --destination sales --where 'event = "Order Completed"'
              penstock diff --against old.yaml --config new.yaml --directory /backup/journal --json
            """)

    @Option(
        name: .customLong("config"),
        help: "The new configuration; conf.d/*.yaml beside it is read, too.", completion: .configurationFile)
    var file = Locations.configuration

    @Option(
        help: ArgumentHelp(
            "Compare with this configuration instead of the running one; no daemon is asked.", valueName: "file"),
        completion: .configurationFile)
    var against: String?

    @OptionGroup var events: JournalEventsOption

    @Option(
        name: .customLong("destination"), help: "Compare only this destination.", completion: .configuredDestination)
    var destinations: [String] = []

    @Option(help: ArgumentHelp("The most samples of each kind of change for a destination.", valueName: "number"))
    var samples = 3

    @OptionGroup var control: ControlOption

    @Flag(help: "Print the result as JSON.")
    var json = false

    /// More samples would be read by nobody, and take memory.
    private static let sampleNumbers = 0...100
    /// More threads than this wait for the disk.
    private static let maximumThreads = 8

    func validate() throws {
        guard Self.sampleNumbers.contains(samples) else {
            throw ValidationError("--samples \(samples) must be from 0 to \(Self.sampleNumbers.upperBound)")
        }
    }

    func run() throws {
        BackgroundPriority.enter()
        do {
            let old = try OldConfiguration.load(against: against, control: control)
            let new = try OldConfiguration.load(file: file)
            try checkNames(old, new)
            let report = try compare(old, new)
            try show(report)
            if report.changes { throw Self.exitCodes[1] }
        } catch let error where !(error is ExitCode) {
            printError(error)
            throw Self.exitCodes[2]
        }
    }

    private func checkNames(_ old: Configuration, _ new: Configuration) throws {
        for name in destinations where old.absence(of: .destination, name) != nil {
            guard let absence = new.absence(of: .destination, name) else { continue }
            throw ReportedError("\(absence.message)\nhint: \(absence.hint)")
        }
    }

    private func compare(_ old: Configuration, _ new: Configuration) throws -> ComparisonReport {
        var options = ConfigurationComparison.Options()
        options.range = events.range
        options.filter = try events.parsedFilter()
        options.destinations = destinations
        options.samples = samples
        options.host = HostName.current
        options.userNames = UserNameCache.shared.lookUp
        options.threads = min(Self.maximumThreads, ProcessInfo.processInfo.activeProcessorCount)
        let stored = try StoredEvents(
            directory: events.directory ?? old.journal.directory, disk: SystemDisk())
        var bar: ProgressBar?
        defer { bar?.clear() }
        return try ConfigurationComparison(from: old, to: new, options).run(stored) { progress in
            var shown = bar ?? ProgressBar("diff", total: progress.totalBytes)
            shown.show(done: progress.bytes, note: Readable.counted(progress.events, "event"))
            bar = shown
        }
    }

    private func show(_ report: ComparisonReport) throws {
        if report.missing > 0 {
            printError(
                "\(Readable.counted(report.missing, "event")) cannot be read and \(report.missing == 1 ? "is" : "are")"
                    + " not compared: see penstock journal verify")
        }
        var output = ResultStream()
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            output.write(String(decoding: try encoder.encode(report), as: UTF8.self) + "\n")
        } else {
            output.write(ComparisonText(ANSIStyle(isOn: stdoutTakesColour)).render(report))
        }
        try output.finish()
    }
}
