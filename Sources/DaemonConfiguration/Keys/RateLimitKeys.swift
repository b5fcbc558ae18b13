/// `sources.NAME.rate_limit`
extension Section where Target == SourceDraft {
    static let rateLimit = Field<SourceDraft>(
        "rate_limit",
        keys: Section([
            Field(
                "events_per_second", \.source.rateLimit.eventsPerSecond, .integer(1...100_000_000),
                default: "unlimited",
                "the maximum number of events per second; lines are then read more slowly, an HTTP request is answered"
                    + " with 429, and a datagram is refused"),
            Field(
                "burst", \.source.rateLimit.burst, .integer(1...100_000_000), default: "events_per_second",
                "how many events may come at once after a pause; more in one read or request are taken, too, and the"
                    + " client then waits the longer"),
            Field(
                "per", \.source.rateLimit.per, .choice,
                "which events the limit counts together: those of a user (uid; over TCP, of an address), of a"
                    + " connection, or with a write_key (events without one count for their user); the datagrams of a"
                    + " user count as one connection"),
        ]), "the limit on the rate of events")
}

/// Checks that need several keys of `rate_limit`.
struct SourceRateLimit {
    let located: Located<SourceDraft>
    let diagnostics: Diagnostics

    func check() {
        guard located.draft.source.rateLimit.eventsPerSecond == nil, located.found["rate_limit"] != nil else { return }
        for key in ["burst", "per"] where located.found["rate_limit.\(key)"] != nil {
            diagnostics.error(
                at: located.place(of: "rate_limit.\(key)"), "\(quoted(key)) needs events_per_second",
                hint: "add events_per_second, or remove rate_limit")
        }
    }
}
