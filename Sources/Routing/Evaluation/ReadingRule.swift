import Events

// What clients really send, when it is read: some values of an event are not taken from the same path of its JSON. The
// stored bytes never change for this.

/// A field of `context.penstock`, which Penstock itself knows about each event. What a client wrote at these paths is
/// never read.
enum OriginField: BitwiseCopyable, Sendable {
    /// The whole object, and its member `peer`.
    case all, peer
    case source, host, uid, gid, pid, user, replay
    /// Any other path in the object: always missing.
    case unknown

    static let root = FieldPath(["context", "penstock"])
    /// The fields, in the order in which messages list them.
    static let names = ["source", "host", "peer", "peer.uid", "peer.gid", "peer.pid", "peer.user", "replay"]

    /// Nil: the path is not in `context.penstock`.
    init?(_ path: FieldPath) {
        guard path.isWithin(Self.root) else { return nil }
        self =
            switch path.segments.dropFirst(2).joined(separator: ".") {
            case "": .all
            case "peer": .peer
            case "source": .source
            case "host": .host
            case "peer.uid": .uid
            case "peer.gid": .gid
            case "peer.pid": .pid
            case "peer.user": .user
            case "replay": .replay
            default: .unknown
            }
        // A name with a dot in it is not two names.
        if path.segments.contains(where: { $0.contains(".") }) { self = .unknown }
    }
}

/// How a value is read that is more than the value at its path. The numbers are those of paths in a `PathTable`, which
/// give the stored values.
enum ReadingRule: BitwiseCopyable, Sendable {
    /// `userId` and `anonymousId`: an empty string counts as missing.
    case identity
    /// `traits`, or a field in them: an identify without traits has those of its `context` (RudderStack's SDKs).
    case traits(TraitsPaths, value: Int)
    case origin(OriginField)
}

/// The numbers of the paths that decide where an identify has its traits.
package struct TraitsPaths: BitwiseCopyable, Sendable {
    package static let traits = FieldPath(["traits"])
    package static let context = FieldPath(["context", "traits"])

    let traits: Int
    let context: Int

    init(_ table: inout PathTable) {
        traits = table.index(of: Self.traits)
        context = table.index(of: Self.context)
    }

    /// The path in `context.traits` that stands for a path in `traits`. Nil: it is not in `traits`.
    static func twin(of path: FieldPath) -> FieldPath? {
        guard path.isWithin(traits), path.segments.count < FieldPath.maximumSegments else { return nil }
        return FieldPath(["context"] + path.segments)
    }

    /// The traits of an event, given the values of `traits` and `context.traits`.
    package static func value(_ traits: FieldValue, _ context: FieldValue, of kind: EventKind) -> FieldValue {
        areInContext(kind, traits, context) ? context : traits
    }

    /// Whether the traits of an event are in its context.
    static func areInContext(_ kind: EventKind, _ traits: FieldValue, _ context: FieldValue) -> Bool {
        kind == .identify && (traits.type == .missing || traits.type == .null) && context.type == .object
    }
}

extension FieldPath {
    /// The stored fields on which the value at this path depends.
    var readPaths: [FieldPath] {
        guard let twin = TraitsPaths.twin(of: self) else { return OriginField(self) == nil ? [self] : [] }
        return [self, TraitsPaths.traits, twin, TraitsPaths.context]
    }
}
