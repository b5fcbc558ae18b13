/// The six event kinds of the Segment specification. The journal stores the raw values: never change them.
@usableFromInline package enum EventKind: UInt8, BitwiseCopyable, Sendable, CaseIterable {
    case track = 1
    case identify = 2
    case page = 3
    case screen = 4
    case group = 5
    case alias = 6

    /// The value of the event's `type` field.
    package var name: String {
        switch self {
        case .track: "track"
        case .identify: "identify"
        case .page: "page"
        case .screen: "screen"
        case .group: "group"
        case .alias: "alias"
        }
    }

    package init?(name: String) {
        guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }
}
