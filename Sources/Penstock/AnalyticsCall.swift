/// A call that records something else than a track: who the user is, or which page or screen they view.
public enum AnalyticsCall {
    /// The user is known, or their traits have changed.
    case identify(userID: String, traits: any Encodable)
    /// The user viewed a page.
    case page(name: String, category: String?, properties: any Encodable)
    /// The user viewed a screen.
    case screen(name: String, category: String?, properties: any Encodable)
    /// The user belongs to a group.
    case group(groupID: String, traits: any Encodable)
    /// The user's id changed. Without a previous id it is the current one.
    case alias(userID: String, previousID: String?)

    /// The kind of the event that the call records.
    public var kind: RecordedEvent.Kind {
        switch self {
        case .identify: .identify
        case .page: .page
        case .screen: .screen
        case .group: .group
        case .alias: .alias
        }
    }

    /// The kind, and the name of a page or screen, for diagnostics.
    var title: String {
        switch self {
        case .page(let name, _, _), .screen(let name, _, _): "\(kind.rawValue) \"\(name)\""
        case .identify, .group, .alias: kind.rawValue
        }
    }
}
