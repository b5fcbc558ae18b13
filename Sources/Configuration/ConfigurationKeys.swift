/// Everything that was read, before what belongs together was checked together.
struct ConfigurationDraft: Sendable {
    var sources: [Located<SourceDraft>] = []
    var journal = Configuration.Journal()
    var plan: Located<PlanDraft>?
    var pipeline: [YAMLNode] = []
    var routes: [Located<RouteDraft>] = []
    var routing = Configuration.RoutingPool()
    var destinations: [Located<DestinationDraft>] = []
    var control = Configuration.Control()
    var plugins: Configuration.Plugins
    var secretsDirectory: String?
    /// Where the keys stand.
    var found: [String: YAMLEntry] = [:]
}

/// The whole file.
extension Section where Target == ConfigurationDraft {
    static let configuration = Section([
        Field("sources", \.sources, .sources, "sockets that events come in through"),
        Field("journal", keys: .journal, "where events are kept until every destination has them"),
        Field(
            "plan", \.plan, .plan, default: "none",
            "a tracking plan, what events have to look like: its file, or a map with file and on_violation"),
        Field("pipeline", \.pipeline, .transforms, "what is changed in every event, before routes are looked for"),
        Field("routes", \.routes, .routes, "which events go where; the first that matches decides for a destination"),
        Field(
            "routing",
            keys: Section([
                Field(
                    "threads", \.routing.threads, .integer(2...64), default: "one for each processor, from 2 to 8",
                    "how many threads route events for HTTP destinations and build their requests; scripts that take long are kept off one of them")
            ]), "how the work of routing is shared"),
        Field("destinations", \.destinations, .destinations, "where events go"),
        Field(
            "control",
            keys: Section([
                Field("socket", \.control.socket, .path, "the Unix socket that the penstock command talks to"),
                .unsupported("metrics", "an address to read metrics from"),
            ]), "how the daemon is watched and commanded"),
        Field(
            "plugins",
            keys: Section([
                Field("directories", \.plugins.directories, .list(.path, "directories"), "where plugins are looked for")
            ]), "sink plugins"),
        Field(
            "secrets",
            keys: Section([
                Field(
                    "directory", \.secretsDirectory, .path, default: "$CREDENTIALS_DIRECTORY",
                    "a directory with a file for each secret")
            ]), "where secrets are read from"),
    ])
}

extension Kind where Value == [Located<SourceDraft>] {
    static var sources: Kind {
        .named("source", SourceDraft(), keys: .source) { _ in (.source, { _ in nil }) }
    }
}

extension Configuration {
    /// All keys of a configuration file with their types, defaults and meanings: what a JSON Schema
    /// and the reference are made from.
    package static var fields: [FieldDescription] {
        Section.configuration.describe(
            ConfigurationDraft(plugins: Plugins(directories: ConfigurationLoader.installedPlugins)))
    }
}
