/// The answer to `POST /resume`.
package struct ResumeReport: Codable, Sendable, Equatable {
    package var destination: String
    /// The destination's state at the time of the request.
    package var state: StatusReport.Destination.State
    /// Whether something waited for its next attempt and is now retried at once: live events, a replay, or a retry of
    /// dead letters.
    package var resumed: Bool

    package init(destination: String, state: StatusReport.Destination.State, resumed: Bool) {
        self.destination = destination
        self.state = state
        self.resumed = resumed
    }
}
