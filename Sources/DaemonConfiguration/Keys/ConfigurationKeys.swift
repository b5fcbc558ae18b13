/// The configuration as read, before the checks that need all of it.
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
    /// The places of the keys.
    var found: [String: YAMLEntry] = [:]
}

/// The whole file.
extension Section where Target == ConfigurationDraft {
    static let configuration = Section([
        Field("sources", \.sources, .sources, "the sockets and plugins that events come from"),
        Field("journal", keys: .journal, "the log on disk that keeps events until every destination has received them"),
        Field(
            "plan", \.plan, .plan, default: "none",
            "a tracking plan that events must follow: its file, or a map with file and on_violation"),
        Field("pipeline", \.pipeline, .transforms, "transforms for every event, before routing"),
        Field(
            "routes", \.routes, .routes,
            "the rules that select events for each destination; the first matching route applies"),
        Field(
            "routing",
            keys: Section([
                Field(
                    "threads", \.routing.threads, .integer(2...64), default: "one for each processor, from 2 to 8",
                    "the number of threads that route events for HTTP destinations and build their requests; one thread"
                        + " is kept free of slow scripts")
            ]), "the threads that route events"),
        Field("destinations", \.destinations, .destinations, "the files, services and plugins that receive events"),
        Field(
            "control",
            keys: Section([
                Field("socket", \.control.socket, .path, "the Unix socket that the command penstock connects to"),
                Field(
                    "metrics", \.control.metrics, .listenAddress(port: 9377), default: "none",
                    "the address and port of an HTTP listener for Prometheus: 127.0.0.1:9377; it serves /metrics,"
                        + " /health and /ready to everybody who can connect; with port 0, the kernel chooses the port"),
                Field(
                    "metrics_insecure", \.control.metricsInsecure, .flag,
                    "whether metrics may be at an address that other machines can reach; they show the names and"
                        + " figures of sources and destinations, and no events"),
                Field(
                    "page", \.control.page, .page, default: "none",
                    "the address and port, or the Unix socket, of the daemon's page for a browser: 127.0.0.1:9378; at"
                        + " an address, which must be a loopback address, it asks for a token: penstock open shows it;"
                        + " with port 0, the kernel chooses the port"),
            ]), "the control socket of the daemon, its metrics and its page"),
        Field(
            "plugins",
            keys: Section([
                Field(
                    "directories", \.plugins.directories, .list(.path, "directories"),
                    "the directories to search for plugins")
            ]), "plugins"),
        Field(
            "secrets",
            keys: Section([
                Field(
                    "directory", \.secretsDirectory, .path, default: "$CREDENTIALS_DIRECTORY",
                    "a directory with a file for each secret")
            ]), "the directory of the secrets"),
    ])
}

extension Configuration {
    /// All keys of a configuration file with their types, defaults and meanings. The JSON Schema and the reference are
    /// made from them.
    package static var fields: [FieldDescription] {
        Section.configuration.describe(
            ConfigurationDraft(plugins: Plugins(directories: ConfigurationLoader.installedPlugins)))
    }
}
