import ArgumentParser
import Control

/// Sends a request to the daemon and returns the answer.
/// - Throws: exit status 2 if the daemon cannot be reached or permission is denied, after printing the reason to
///   stderr.
func asking(_ request: () throws -> ControlAnswer) throws -> ControlAnswer {
    do {
        return try request()
    } catch let error as ControlClientError {
        printError("\(error)")
        throw ExitCode(2)
    }
}

/// Requests the daemon's status. Commands that wait poll it.
struct StatusQuestion {
    let control: ControlOption

    /// - Throws: exit status 2 if there is no answer, 3 if permission is denied, after printing the reason to stderr.
    func ask() throws -> StatusReport {
        let answer: ControlAnswer
        do {
            answer = try ControlClient(socket: control.path).get("/status")
        } catch {
            printError("\(error)")
            throw ExitCode(error.code == .permissionDenied ? 3 : 2)
        }
        if answer.isSuccess { return try answer.decode(StatusReport.self) }
        printError(answer.error)
        throw ExitCode(2)
    }
}
