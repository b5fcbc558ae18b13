import Penstock

/// A post in the feed.
struct Post {
    var id: Int
    var authorID: String
    var text: String
    var images: Int
}

/// The feed's events. They are enum cases because each has few properties, all of which the screen knows.
enum FeedEvent: AnalyticsEvent, Equatable {
    case refreshed(newPosts: Int)
    case postOpened(postID: Int, position: Int)
    case postLiked(postID: Int, isOwn: Bool)
    case postShared(postID: Int, words: Int, images: Int)

    /// The case is called `refreshed` in the source, but the event is "Feed Refreshed" in every chart.
    var eventName: String? {
        if case .refreshed = self { "Feed Refreshed" } else { nil }
    }
}

struct FeedRegistry: Sendable {
    let events: any EventSending

    func refreshed(from old: [Post], to new: [Post]) {
        let known = Set(old.map(\.id))
        events.track(FeedEvent.refreshed(newPosts: new.count { !known.contains($0.id) }))
    }

    /// - Parameter index: The position of the post in the feed, from 0.
    func opened(_ post: Post, at index: Int) {
        events.track(FeedEvent.postOpened(postID: post.id, position: index + 1))
    }

    func liked(_ post: Post, by userID: String) {
        events.track(FeedEvent.postLiked(postID: post.id, isOwn: post.authorID == userID))
    }

    /// Records the size of the text, but not the text itself.
    func shared(_ post: Post) {
        let words = post.text.split(whereSeparator: \.isWhitespace).count
        events.track(FeedEvent.postShared(postID: post.id, words: words, images: post.images))
    }
}
