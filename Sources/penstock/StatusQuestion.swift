import ArgumentParser
import Control

/// The daemon's answer to a request.
/// - Throws: exit status 2, and why on stderr, if there is none.
func asking(_ request: () throws -> ControlAnswer) throws -> ControlAnswer {
    do {
        return try request()
    } catch let error as ControlClientError {
        printError("\(error)")
        throw ExitCode(2)
    }
}

/// What commands that wait ask again and again.
struct StatusQuestion {
    let control: ControlOption

    /// - Throws: exit status 2, and why on stderr, if no answer is to be had; 3 if that is for lack of permission.
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
