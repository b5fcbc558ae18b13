import ArgumentParser
import Control
import Platform

struct Reload: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "the new configuration is in effect", 1: "it was refused, or the daemon is not running",
    ]

    static let configuration = CommandConfiguration(
        abstract: "Make the daemon reload its configuration.",
        discussion: """
            Returns when the new configuration is in effect. If it is refused, prints its errors; the previous \
            configuration stays in effect.

            \(exitCodes)
            """)

    @OptionGroup var control: ControlOption

    func run() throws {
        let client = ControlClient(socket: control.path)
        // A changed destination is drained first, so a reload may take several seconds.
        let answer = try client.post("/reload", timeout: .seconds(120))
        guard answer.isSuccess else { throw ReportedError(answer.error) }
        let report = try answer.decode(ReloadReport.self)
        // Run by ExecReload=, its stderr is the systemd journal, where the daemon has logged all of this already.
        if !StandardErrorLog.isJournal(2) {
            for warning in report.warnings { printError(warning) }
            for error in report.errors { printError(error) }
            if !report.applied { printError("the new configuration was refused; the previous one stays in effect") }
        }
        guard report.applied else { throw Self.exitCodes[1] }
    }
}
