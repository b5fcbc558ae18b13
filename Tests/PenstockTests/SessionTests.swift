import Foundation
import Penstock
import PenstockTesting
import Testing

@Suite struct SessionTests {
    struct User: AnalyticsUser {
        var userID: String
        var plan: String
    }
    struct Settings: Encodable {
        var theme = "dark"
        var isPushOn = true
    }

    let rig = Rig()

    @Test func `signing in identifies the user, and every event carries the session`() throws {
        rig.analytics.start(session: .authenticated(User(userID: "u1", plan: "pro"), Settings()))
        rig.analytics.track(ShopEvent.cartViewed)
        try #require(rig.events.count == 2)
        #expect(rig.events[0].kind == .identify)
        #expect(rig.events[0].traits == ["userID": "u1", "plan": "pro"])
        let id = try #require(rig.analytics.sessionID)
        for event in rig.events {
            #expect(event.userID == "u1")
            #expect(event.session == ["id": .string(id), "kind": "authenticated", "theme": "dark", "isPushOn": true])
        }
    }

    @Test func `the identify of a session may have a time and an id of its own`() throws {
        let user = User(userID: "u1", plan: "pro")
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        rig.analytics.start(session: .authenticated(user, Settings()), at: date, messageID: "a")
        rig.analytics.update(settings: Settings(theme: "light"), at: date + 1, messageID: "b")
        #expect(rig.events.map(\.messageID) == ["a", "b"])
        #expect(rig.events.map(\.timestamp) == [date, date + 1])
    }

    @Test func `an unauthenticated session identifies no user`() {
        rig.analytics.start(session: .unauthenticated(Settings()))
        rig.analytics.track(ShopEvent.cartViewed)
        #expect(rig.events.map(\.kind) == [.track])
        #expect(rig.events[0].session?["kind"] == "unauthenticated")
        #expect(rig.events[0].userID == nil)
    }

    @Test func `updated settings also update the profile`() throws {
        rig.analytics.start(session: .authenticated(User(userID: "u1", plan: "pro"), Settings()))
        let id = rig.analytics.sessionID
        rig.analytics.update(settings: Settings(theme: "light"))
        rig.analytics.track(ShopEvent.cartViewed)
        #expect(rig.events.map(\.kind) == [.identify, .identify, .track])
        #expect(rig.events.map { $0.session?["theme"] } == ["dark", "light", "light"])
        #expect(rig.analytics.sessionID == id)
    }

    @Test func `signing out starts a new anonymous identity`() {
        rig.analytics.start(session: .unauthenticated(Settings()))
        let before = rig.analytics.anonymousID
        rig.analytics.start(session: .authenticated(User(userID: "u1", plan: "pro")))
        #expect(rig.analytics.anonymousID == before)
        let first = rig.analytics.sessionID
        rig.analytics.start(session: .unauthenticated())
        #expect(rig.analytics.anonymousID != before)
        #expect(rig.analytics.userID == nil)
        #expect(rig.analytics.sessionID != first)
        rig.analytics.endSession()
        rig.analytics.track(ShopEvent.cartViewed)
        #expect(rig.events.last?.session == nil)
    }

    @Test func `an invalid session is reported`() {
        rig.analytics.update(settings: Settings())
        rig.analytics.start(session: .unauthenticated(3))
        #expect(rig.diagnostics.codes == [.notFound, .notEncodable])
        #expect(rig.analytics.sessionID == nil)
        #expect(rig.events.isEmpty)
    }
}
