extension Configuration {
    /// A value of the events of a request, for its URL and headers: `{{ batch.id }}`.
    package enum BatchValue: String, Sendable, CaseIterable {
        case id
        case position
        case lastPosition = "last_position"
        case count
        case date
        case hour
        case time
        case host
        case destination
        case random
    }
}
