/// `sources.NAME.dedupe`.
extension Kind where Value == Configuration.Deduplication {
    static var deduplication: Kind {
        let section = Section<Configuration.Deduplication>([
            Field(
                "window", \.window, .duration(.seconds(1)...days(30)),
                "how long a messageId is remembered; at the start, the ids of this time are read from the journal"),
            Field(
                "max_memory", \.maximumMemory, .size((1 << 20)...(16 << 30)),
                "the maximum size of the ids in memory, 32 bytes for each; above it, the oldest are forgotten before"
                    + " the window is over"),
        ])
        return Kind(.section(section.describe(Configuration.Deduplication()))) { node, key, diagnostics in
            var value = Configuration.Deduplication()
            section.read(node, named: quoted(key), into: &value, diagnostics)
            return value
        }
    }
}
