// PenstockPluginKit: sink and source plugins in Swift, without pointers.
//
//     import CPenstockPlugin
//     import PenstockPluginKit
//
//     final class Lines: BlockingSink {
//         struct Settings: Decodable { var path: String }
//         static let plugin = Plugin(name: "lines", version: "1.0", summary: "Writes each event to a line")
//
//         init(settings: Settings, host: Host) throws { … }
//         func deliver(_ batch: Batch) throws -> [Outcome] { batch.map { write($0.payload) ? .delivered : .retry } }
//     }
//
//     @c @implementation
//     public func penstock_plugin_entry(_ major: UInt32, _ minor: UInt32) -> UnsafePointer<penstock_plugin>! {
//         unsafe entry(to: Lines.self, major)
//     }
//
// A source (`Source`) brings events in. A plugin may be a sink, a source or both.
//
// A sink is one of three kinds. `BlockingSink` returns the outcomes of a batch; `AsyncSink` returns them from an async
// function; `SettlingSink` settles each batch itself, now or later, from any thread. The contract of threads and memory
// is that of penstock_plugin.h; the kit keeps it.

/// What each kind of sink has. The host calls a sink's functions one at a time, on a thread that may block; each call
/// may come on another thread. `SinkError` is an error for the operator.
public protocol Sink: AnyObject, SendableMetatype {
    /// The settings of a destination, decoded from JSON. The host has validated them against the schema, if there is
    /// one, and has filled in secrets.
    associatedtype Settings: Decodable & SendableMetatype

    static var plugin: Plugin { get }

    /// Does no slow I/O: `connect` does.
    /// - Parameter host: outlives the sink.
    init(settings: Settings, host: Host) throws

    /// Read once, after `init`.
    var limits: Limits { get }

    /// Opens the file or the connection. Called before the first batch, again if it failed, and again after a `deliver`
    /// that threw.
    func connect() throws

    /// Makes all events durable that were reported as delivered.
    func flush() throws

    /// The last position that is stored with the data, in one transaction; nil: none is stored for this destination and
    /// journal. Called after `connect`, and only if the plugin `keepsPosition`.
    func durablePosition() throws -> UInt64?

    /// Ends all work. No thread of the sink runs after it. Called once.
    func stop()
}

extension Sink {
    public var limits: Limits { Limits() }
    public func connect() throws {}
    public func flush() throws {}
    public func durablePosition() throws -> UInt64? { nil }
    public func stop() {}
}

/// A sink that stores or sends a batch before `deliver` returns.
public protocol BlockingSink: Sink {
    /// - Returns: an outcome for each event, in the batch's order. An event without one is offered again.
    /// - Throws: if the batch was not taken: its events are offered again after `connect`. `SinkBusy`: it is offered
    ///   again after a while, without `connect`.
    func deliver(_ batch: Batch) throws -> [Outcome]
}

/// A sink with an async `deliver`. Up to `limits.maxInFlight` batches are delivered concurrently. `stop` cancels them
/// and waits.
public protocol AsyncSink: Sink, Sendable {
    /// - Returns: an outcome for each event, in the batch's order. An event without one is offered again.
    /// - Throws: the batch's events are offered again.
    func deliver(_ batch: Batch) async throws -> [Outcome]
}

/// A sink that settles each batch itself: `Batch.settle`, once, from any thread, before or after `deliver` returns.
public protocol SettlingSink: Sink {
    /// - Throws: if the batch was not taken and not settled; see `BlockingSink`.
    func deliver(_ batch: Batch) throws
}

/// What a plugin says about itself.
public struct Plugin: Sendable {
    /// A few words each.
    public var name: String
    public var version: String
    public var summary: String
    /// The JSON Schema of the settings (`settings_schema` in penstock_plugin.h lists the keywords); nil: any settings.
    public var schema: String?
    /// What the plugin uses beyond its own memory (`needs` in penstock_plugin.h), such as `network`; nil: anything.
    public var needs: String?
    /// Whether `durablePosition` is stored with the data: each event is then stored exactly once.
    public var keepsPosition: Bool

    public init(
        name: String, version: String, summary: String, schema: String? = nil, needs: String? = nil,
        keepsPosition: Bool = false
    ) {
        self.name = name
        self.version = version
        self.summary = summary
        self.schema = schema
        self.needs = needs
        self.keepsPosition = keepsPosition
    }
}

/// What a sink takes at most.
public struct Limits: Sendable {
    /// Batches that are taken and not yet settled. With 1, batches come in journal order, and events that are offered
    /// again come before later ones.
    public var maxInFlight: Int
    /// nil: no limit.
    public var maxBatchEvents: Int?
    /// The sum of the payloads in bytes; nil: no limit.
    public var maxBatchBytes: Int?

    public init(maxInFlight: Int = 1, maxBatchEvents: Int? = nil, maxBatchBytes: Int? = nil) {
        self.maxInFlight = maxInFlight
        self.maxBatchEvents = maxBatchEvents
        self.maxBatchBytes = maxBatchBytes
    }
}

/// An error for the operator: what failed, and what to do.
public struct SinkError: Error, CustomStringConvertible {
    public var description: String

    public init(_ description: String) { self.description = description }
}

/// The sink can take no batch now. The host offers it again after `Host.ready`, or after a while.
public struct SinkBusy: Error {
    public init() {}
}
