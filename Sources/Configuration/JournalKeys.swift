/// `journal`. The journal is part of the whole configuration's draft; its defaults are those of
/// `Configuration.Journal`.
extension Section where Target == ConfigurationDraft {
    static let journal = Section([
        Field("directory", \.journal.directory, .path, "where events are kept; it cannot change while the daemon runs"),
        Field(
            "sync", \.journal.sync, .sync,
            "when events are made durable: before each acknowledgement, at intervals, or never"),
        Field(
            "retain",
            keys: Section([
                Field("time", \.journal.retainTime, .duration(.seconds(60)...days(3_650)), "how long events are kept"),
                Field("size", \.journal.retainSize, .size((16 << 20)...(1 << 50)), "bytes that the journal may take"),
            ]), "what is kept after it was delivered"),
        Field("when_full", \.journal.whenFull, .choice, "what happens when the journal has no more room"),
        Field("segment_size", \.journal.segmentSize, .size((1 << 20)...(1 << 30)), "bytes of one journal file"),
        Field("queue", \.journal.queue, .size((256 << 10)...(1 << 30)), "bytes that may wait for the next write"),
        Field(
            "cursor_interval", \.journal.cursorInterval, .duration(.milliseconds(10)...days(1)),
            "how often the destinations' positions are made durable"),
    ])
}

func days(_ count: Int) -> Duration { .seconds(count * 86_400) }

extension Kind where Value == Configuration.Journal.Sync {
    private static var syncIntervals: ClosedRange<Duration> { .milliseconds(1)...(.seconds(3_600)) }

    static var sync: Kind {
        .text(
            "always, never or a duration", .either([.choice(["always", "never"]), .duration(syncIntervals)]), hint: Quantity.durationHint,
            show: { sync in
                switch sync {
                case .always: "always"
                case .never: "never"
                case .interval(let duration): Quantity.text(duration)
                }
            },
            convert: { text in
                switch text {
                case "always": return .always
                case "never": return .never
                default:
                    guard let duration = Quantity.duration(text), syncIntervals.contains(duration)
                    else { return nil }
                    return .interval(duration)
                }
            })
    }
}
