import Foundation
import Penstock

enum ShopEvent: AnalyticsEvent {
    case cartViewed
    case orderCompleted(orderID: String, total: Decimal)
}

let analytics = Analytics(providers: [DaemonProvider()], userID: "ada")
analytics.track(ShopEvent.cartViewed)
analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 12.5))
print(await analytics.flush())
