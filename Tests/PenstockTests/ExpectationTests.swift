import Foundation
import Penstock
import PenstockTesting
import Synchronization
import Testing

/// Tests of the test kit: what it accepts, and its messages when it does not.
@Suite struct ExpectationTests {
    let rig = Rig()

    /// The messages of the issues that `body` records.
    func messages(_ body: () -> Void) -> [String] {
        let found = Mutex<[String]>([])
        withKnownIssue {
            body()
        } matching: { issue in
            found.withLock { $0.append(issue.comments.map(\.rawValue).joined()) }
            return true
        }
        return found.withLock { $0 }
    }

    @Test func `a met expectation records no issue`() {
        rig.analytics.superProperties = ["plan": "pro"]
        rig.analytics.identify("u1", traits: ["plan": "pro", "age": 7])
        rig.analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 12.5))
        rig.analytics.track("Post Liked", ["Liked": true])
        rig.analytics.screen("Inbox")
        expect(rig.analytics)
            .tracked(ShopEvent.orderCompleted(orderID: "A1", total: 12.5), times: 1)
            .tracked("Post Liked", ["Liked": true])
            .tracked("Post Liked")
            .notTracked(ShopEvent.cartViewed)
            .notTracked("Payment Failed")
            .trackedNames("Order Completed", "Post Liked")
            .identified("u1", traits: ["age": 7])
            .viewed("Inbox")
        rig.recording.removeAll()
        expect(rig.recording).recordedNothing()
    }

    @Test func `the message shows the differences from the nearest event`() {
        rig.analytics.track(ShopEvent.cartViewed)
        rig.analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 13))
        rig.analytics.track("Other", ["orderID": "A1"])
        #expect(
            messages { expect(rig.analytics).tracked(ShopEvent.orderCompleted(orderID: "A1", total: 12.5)) } == [
                """
                expected at least once a track "Order Completed", found 0; the nearest is track number 2:
                    orderID: "A1"
                  - total: 12.5
                  + total: 13
                recorded tracks: "Cart Viewed", "Order Completed", "Other"
                """
            ])
    }

    @Test func `an unmet expectation is an issue`() {
        rig.analytics.track(ShopEvent.cartViewed)
        rig.analytics.identify("u1", traits: ["plan": "free"])
        let found = messages {
            expect(rig.analytics)
                .tracked(ShopEvent.cartViewed, times: 2)
                .notTracked("Cart Viewed")
                .trackedNames("Other")
                .identified("u2")
                .identified("u1", traits: ["plan": "pro"])
                .viewed("Inbox")
                .recordedNothing()
        }
        #expect(
            found.map { String($0.prefix { $0 != "\n" }) } == [
                #"expected twice a track "Cart Viewed", found 1"#.replacing("twice", with: "2 times"),
                #"expected never a track "Cart Viewed", found 1"#, #"expected these tracks, in this order: "Other""#,
                #"expected an identify of "u2"; identified: "u1""#, #"expected an identify of "u1" with other traits"#,
                #"expected a page or screen "Inbox"; seen: none"#, "expected nothing",
            ])
    }

    @Test func `a met sequence records no issue`() {
        rig.analytics.track(ShopEvent.cartViewed)
        rig.analytics.track(ShopEvent.couponApplied(code: "X"))
        rig.analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 12.5))
        expect(rig.analytics)
            .trackedExactly(
                of: ShopEvent.self, .cartViewed, .couponApplied(code: "X"), .orderCompleted(orderID: "A1", total: 12.5)
            )
            .trackedExactly(
                ShopEvent.cartViewed, UntypedEvent(name: "Coupon Applied", properties: ["code": "X"]),
                ShopEvent.orderCompleted(orderID: "A1", total: 12.5)
            )
            .trackedInOrder(of: ShopEvent.self, .cartViewed, .orderCompleted(orderID: "A1", total: 12.5))
        #expect(
            rig.recording.events(of: ShopEvent.self) == [
                .cartViewed, .couponApplied(code: "X"), .orderCompleted(orderID: "A1", total: 12.5),
            ])
    }

    @Test func `the message shows the first difference of a sequence`() {
        rig.analytics.track(ShopEvent.cartViewed)
        rig.analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 13))
        let recorded = #"recorded tracks: "Cart Viewed", "Order Completed""#
        #expect(
            messages {
                expect(rig.analytics)
                    .trackedExactly(of: ShopEvent.self, .cartViewed, .orderCompleted(orderID: "A1", total: 12.5))
                    .trackedExactly(of: ShopEvent.self, .couponApplied(code: "X"))
                    .trackedExactly(of: ShopEvent.self, .cartViewed)
                    .trackedExactly(
                        of: ShopEvent.self, .cartViewed, .orderCompleted(orderID: "A1", total: 13), .cartViewed
                    )
                    .trackedInOrder(of: ShopEvent.self, .orderCompleted(orderID: "A1", total: 13), .cartViewed)
            } == [
                """
                expected exactly 2 tracks, found 2; the first difference is track number 2:
                    "Order Completed"
                    orderID: "A1"
                  - total: 12.5
                  + total: 13
                \(recorded)
                """,
                """
                expected exactly 1 track, found 2; the first difference is track number 1:
                  - "Coupon Applied" {"code":"X"}
                  + "Cart Viewed" {}
                \(recorded)
                """,
                """
                expected exactly 1 track, found 2; these are too many:
                  + "Order Completed" {"orderID":"A1","total":13}
                \(recorded)
                """,
                """
                expected exactly 3 tracks, found 2; these are missing:
                  - "Cart Viewed" {}
                \(recorded)
                """,
                """
                expected these tracks in order; number 2 is missing after track number 2:
                  - "Cart Viewed" {}
                \(recorded)
                """,
            ])
    }

    @Test func `an Analytics without a recording provider is an issue`() {
        let found = messages { expect(Analytics()).tracked(ShopEvent.cartViewed) }
        #expect(found.count == 1 && found[0].contains("has no RecordingProvider"))
    }
}
