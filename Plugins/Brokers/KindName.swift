import PenstockPluginKit

extension Event.Kind {
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
}
