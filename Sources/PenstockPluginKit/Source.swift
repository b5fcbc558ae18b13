/// A source brings events in: it reads a broker, a log or a file, and offers what it reads to the host. The host calls
/// a source's functions one at a time, on a thread that may block; each call may come on another thread. `SourceError`
/// is an error for the operator.
///
///     init → connect → start(lanes) → offers, durable, ready … → stop → durable … → end
///
/// A source reads each lane from the position that `start` passes on. After a crash it is started with the positions
/// that the host's journal holds, so it neither loses nor repeats an event if it keeps to them.
public protocol Source: AnyObject, SendableMetatype {
    /// The settings of a source, decoded from JSON. The host has validated them against the schema, if there is one,
    /// and has filled in secrets.
    associatedtype Settings: Decodable & SendableMetatype

    static var source: SourceDescription { get }

    /// Does no slow I/O: `connect` does.
    /// - Parameter host: outlives the source.
    init(settings: Settings, host: SourceHost) throws

    /// Opens the connection. Called before `start`, again after a while if it failed.
    func connect() throws

    /// Begins to offer. Called once.
    /// - Parameter lanes: all lanes of this source that the host's journal holds. A lane that is missing has no
    ///   position yet.
    func start(_ lanes: [Lane]) throws

    /// After an offer was refused as busy: the host takes offers again.
    func ready()

    /// An offer is stored: each of its events is durable or refused, and so are all earlier offers of its lane. Must
    /// return soon.
    func durable(_ offer: DurableOffer)

    /// After it has returned, no offer comes. `durable` is still called for earlier offers. Called once.
    func stop()

    /// Ends all threads of the source. The last call, after `stop`.
    func end()
}

extension Source {
    public func connect() throws {}
    public func ready() {}
}

/// What a source says about itself.
public struct SourceDescription: Sendable {
    /// The JSON Schema of the settings (`settings_schema` in penstock_plugin.h lists the keywords); nil: any settings.
    public var schema: String?
    /// What the source uses beyond its own memory (`needs` in penstock_plugin.h), such as `network`; nil: anything.
    public var needs: String?

    public init(schema: String? = nil, needs: String? = nil) {
        self.schema = schema
        self.needs = needs
    }
}

/// What has a position of its own: a partition, a file, a stream.
public struct Lane: Sendable, Equatable {
    /// The most bytes of a name, and of a position.
    public static let maximumLength = 64

    /// 1 to 64 bytes of UTF-8, without control characters.
    public var name: String
    /// At most 64 bytes, which only the source understands. None: the host forgets the lane.
    public var position: [UInt8]

    public init(name: String, position: [UInt8]) {
        self.name = name
        self.position = position
    }

    /// A lane whose position is text.
    public init(name: String, position: String) { self.init(name: name, position: Array(position.utf8)) }

    /// The position as text. Invalid UTF-8 is replaced.
    public var text: String { String(decoding: position, as: UTF8.self) }
}

/// An offer that is stored.
public struct DurableOffer: Sendable {
    /// An event of the offer that the host refused.
    public struct Refusal: Sendable, Equatable {
        /// In the offer's events, from 0.
        public var index: Int
        public var reason: String
    }

    /// As in the offer.
    public var token: UInt64
    public var lane: Lane
    /// In the offer's order.
    public var refusals: [Refusal]
}

/// An error for the operator: what failed, and what to do.
public typealias SourceError = SinkError
