import Events

/// One of the endpoints of Segment's tracking API.
package enum TrackingEndpoint: Sendable, Equatable {
    /// The body is one event of this kind.
    case single(EventKind)
    /// The body is an object with an array of events, `batch`.
    case batch

    /// - Parameter path: the request's path without its query. The short forms are those of analytics.js. One slash at
    ///   the end is allowed.
    /// - Returns: nil if the tracking API has no such path.
    package init?(path: Span<UInt8>) {
        let hasSlash = path.count > 1 && path[path.count - 1] == UInt8(ascii: "/")
        let path = path.extracting(droppingLast: hasSlash ? 1 : 0)
        guard let text = JSONText.text(path), text.hasPrefix("/v1/") else { return nil }
        switch text.dropFirst(4) {
        case "t", "track": self = .single(.track)
        case "i", "identify": self = .single(.identify)
        case "p", "page": self = .single(.page)
        case "s", "screen": self = .single(.screen)
        case "g", "group": self = .single(.group)
        case "a", "alias": self = .single(.alias)
        case "b", "batch", "import": self = .batch
        default: return nil
        }
    }
}
