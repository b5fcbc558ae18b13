/// `journal`. The journal is part of the configuration's draft. Its defaults are those of `Configuration.Journal`.
extension Section where Target == ConfigurationDraft {
    static let journal = Section([
        Field(
            "directory", \.journal.directory, .path,
            "the journal's directory; no destination may write there; it cannot change while the daemon runs"),
        Field(
            "sync", \.journal.sync, .sync,
            "when events are made durable: before each acknowledgement, at intervals, or never"),
        Field(
            "retain",
            keys: Section([
                Field(
                    "time", \.journal.retainTime, .duration(.seconds(60)...days(3_650)),
                    "how long the journal keeps delivered events"),
                Field("size", \.journal.retainSize, .size((16 << 20)...(1 << 50)), "the maximum size of the journal"),
            ]), "the limits on what the journal keeps"),
        Field(
            "when_full", \.journal.whenFull, .choice,
            "what happens when the journal reaches retain.size or its filesystem is full: clients wait, the oldest"
                + " events are dropped, or new ones are refused"),
        Field(
            "segment_size", \.journal.segmentSize, .size((1 << 20)...(1 << 30)),
            "the size of one journal file; the disk must have room for two files, and for a reserve of two more files"
                + " or 16MiB, whichever is less"),
        Field(
            "memory", \.journal.memory, .size((1 << 20)...(8 << 30)),
            "the memory for events: half of it, at most segment_size, for those that wait for a write, the rest for"
                + " those that are being written, and for the latest ones, which destinations that keep up read there"
                + " instead of from the disk"),
        Field(
            "queue", \.journal.givenQueue, .size((256 << 10)...(1 << 30)),
            default: "an eighth of memory, from 256KiB to 2MiB",
            "the maximum size of one write; at most a quarter of memory"),
        Field(
            "commit_delay", \.journal.commitDelay, .duration(.zero...(.milliseconds(10))),
            "under light load, how long the first events that arrive wait for those of other clients, so that one write"
                + " takes them all; while nobody else sends, they do not wait"),
        Field(
            "reader_wait", \.journal.readerWait, .duration(.zero...(.milliseconds(100))),
            "under full load, how long a write waits for destinations that keep up, so that they still find the next"
                + " events in memory: where N times as many of them as processors need it, up to N times as long, but"
                + " no longer than 100ms, and only while they read on; a destination that takes longer reads from the"
                + " disk until it has caught up"),
        Field(
            "cursor_interval", \.journal.cursorInterval, .duration(.milliseconds(10)...days(1)),
            "how often the destinations' cursors are made durable; after a kill, only the events in flight are sent to"
                + " HTTP destinations again"),
    ])
}

func days(_ count: Int) -> Duration { .seconds(count * 86_400) }

extension Kind where Value == Configuration.Journal.Sync {
    private static var syncIntervals: ClosedRange<Duration> { .milliseconds(1)...(.seconds(3_600)) }

    static var sync: Kind {
        let words = Kind.text(
            "always, never or a duration", .either([.choice(["always", "never"]), .duration(syncIntervals)]),
            hint: Quantity.durationHint,
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
                    return Quantity.duration(text).map { .interval($0) }
                }
            })
        return Kind(words.type, show: words.show) { node, key, diagnostics in
            guard let sync = words.read(node, key, diagnostics) else { return nil }
            if case .interval(let interval) = sync, !syncIntervals.contains(interval) {
                let (least, most) = (Quantity.text(syncIntervals.lowerBound), Quantity.text(syncIntervals.upperBound))
                diagnostics.error(at: node.place, "\(quoted(key)) must be always, never, or from \(least) to \(most)")
                return nil
            }
            return sync
        }
    }
}
