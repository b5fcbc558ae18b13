import Control
import Synchronization

/// Where the page is now; nil: there is none. The main thread sets it, and any thread reads it.
final class PagePlace: Sendable {
    private let place = Mutex<PageReport?>(nil)

    var report: PageReport? {
        get { place.withLock { $0 } }
        set { place.withLock { $0 = newValue } }
    }
}
