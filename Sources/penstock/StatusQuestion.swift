import ArgumentParser
import Control

/// What commands that wait ask again and again.
struct StatusQuestion {
    let control: ControlOption

    /// - Throws: exit status 2, and why on stderr, if no answer is to be had.
    func ask() throws -> StatusReport {
        do {
            let answer = try ControlClient(socket: control.path).get("/status")
            if answer.isSuccess { return try answer.decode(StatusReport.self) }
            printError(answer.error)
        } catch {
            printError("\(error)")
        }
        throw ExitCode(2)
    }
}
