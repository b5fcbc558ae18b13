import Penstock

/// A service with its own vocabulary: the steps of a funnel.
nonisolated protocol Funnel: Sendable {
    func step(_ name: String, weight: Int)
}

/// Maps the feed's events to steps. Without a default case, the compiler asks for a mapping of each new event.
struct FunnelProvider: TypedProvider {
    let funnel: any Funnel

    func record(_ event: FeedEvent, as recorded: RecordedEvent) {
        switch event {
        case .refreshed: break
        case .postOpened: funnel.step("read", weight: 1)
        case .postLiked(_, let isOwn): if !isOwn { funnel.step("engage", weight: 2) }
        case .postShared: funnel.step("spread", weight: 5)
        }
    }
}
