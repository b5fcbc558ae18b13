import ArgumentParser
import Control
import Platform

struct Reload: ParsableCommand {
    private static let endings: Endings = [0: "the new configuration serves", 1: "it is refused, or there is no daemon"]

    static let configuration = CommandConfiguration(
        abstract: "Make the daemon read its configuration again.",
        discussion: """
            Returns when the new configuration serves. If it is refused, its errors are printed,
            and the daemon goes on with the one it has.

            \(endings)
            """)

    @OptionGroup var control: ControlOption

    func run() throws {
        let client = ControlClient(socket: control.path)
        // A changed destination is drained first, so a reload may take its time.
        let answer = try client.post("/reload", timeout: .seconds(120))
        guard answer.isSuccess else { throw ReportedError(answer.error) }
        let report = try answer.decode(ReloadReport.self)
        // As ExecReload= it writes where the daemon does, which has logged all of it: once is enough.
        if !StandardErrorLog.isJournal(2) {
            for warning in report.warnings { printError(warning) }
            for error in report.errors { printError(error) }
            if !report.applied { printError("the new configuration was refused; the one that was running runs on") }
        }
        guard report.applied else { throw Self.endings[1] }
    }
}
