import Penstock
import PenstockTesting
import Testing

@testable import Social

@Suite struct FeedRegistryTests {
    let analytics = Analytics(providers: [RecordingProvider()])
    var feed: FeedRegistry { FeedRegistry(events: analytics) }
    let post = Post(id: 4711, authorID: "u_ada", text: "Notes on the\n engine", images: 2)

    @Test func `a refresh counts the new posts`() {
        let other = Post(id: 1, authorID: "u_1", text: "", images: 0)
        feed.refreshed(from: [other], to: [post, other])
        expect(analytics).tracked(FeedEvent.refreshed(newPosts: 1)).trackedNames("Feed Refreshed")
    }

    @Test func `the first post of the feed has position one`() {
        feed.opened(post, at: 0)
        expect(analytics).tracked(FeedEvent.postOpened(postID: 4711, position: 1))
    }

    @Test(arguments: [("u_ada", true), ("u_grace", false)])
    func `a like records whether the post is the user's own`(userID: String, isOwn: Bool) {
        feed.liked(post, by: userID)
        expect(analytics).tracked("Post Liked", ["postID": 4711, "isOwn": PropertyValue(isOwn)])
    }

    @Test func `a shared post records the number of its words, but no word`() {
        feed.shared(post)
        expect(analytics).tracked("Post Shared", ["postID": 4711, "words": 4, "images": 2])
    }
}
