/// What `POST /resume` answers.
package struct ResumeReport: Codable, Sendable, Equatable {
    package var destination: String
    /// The destination's state when it was asked for.
    package var state: StatusReport.Destination.State
    /// Whether something waited for its next attempt, and is tried now instead: live events, a replay, a retry of dead letters.
    package var resumed: Bool

    package init(destination: String, state: StatusReport.Destination.State, resumed: Bool) {
        self.destination = destination
        self.state = state
        self.resumed = resumed
    }
}
