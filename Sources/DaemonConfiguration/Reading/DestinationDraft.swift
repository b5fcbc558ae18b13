/// A destination during reading: the values given, before the defaults that depend on its kind.
struct DestinationDraft: Sendable, PluginUser {
    var preset: String?
    var file = Configuration.File.Path()
    var http = HTTPDraft()
    var plugin = PluginDraft()
    var start = Configuration.Destination.Start.now
    var batchEvents: Int?
    var batchBytes: Int?
    var batchWait: Duration?
    var inFlight: ClosedRange<Int>?
    var rateLimit = Configuration.Destination.RateLimit()
    var order = Configuration.Destination.Order.destination
    var retry = Configuration.Destination.Retry()
    var rules = RulesDraft()
    var deadLetters = Configuration.Destination.DeadLetters()
    var replay = Configuration.Destination.Replay()
    var mapping: MappingDraft?
    /// Kinds of request, each a map of the keys in which it differs.
    var requests: [YAMLNode] = []
    /// For a kind of request: `also`.
    var isAdditional = false
    var maximumEventSize: Int = 1 << 20

    var rotateSize: Int?
    var rotateEvery: Duration?
    var timezone: String?
    var fileFormat = Configuration.File.Format.ndjson
    var columns: ColumnsDraft?
    var fileSync: Configuration.Journal.Sync?
    var keep = Configuration.File.Keep()
    var openFiles = 128
    var newFiles = 10_000

    var isolation = Configuration.Plugin.Isolation.process
}

/// The three kinds of destination, each named by the key that selects it.
enum DestinationKind: String, CaseIterable, Sendable {
    case file, http, plugin

    /// Defaults of `batch` and `in_flight`. A file has one writer and large writes, a service gets several requests at
    /// once, and a plugin gets one batch at a time.
    func batch(compressed: Bool) -> Configuration.Destination.Batch {
        switch self {
        case .file: .init(events: 10_000, bytes: 1 << 20, wait: compressed ? .seconds(1) : .zero)
        case .http: .init(events: 500, bytes: 1 << 20, wait: .seconds(1))
        case .plugin: .init(events: 512, bytes: 1 << 20, wait: .milliseconds(200))
        }
    }

    var inFlight: ClosedRange<Int> { self == .http ? 4...4 : 1...1 }

    /// The start of "a file destination", "an HTTP destination", "a plugin destination".
    var article: String {
        switch self {
        case .file: "a file"
        case .http: "an HTTP"
        case .plugin: "a plugin"
        }
    }
}
