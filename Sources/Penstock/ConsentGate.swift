import Synchronization

/// Holds events until the user consents. It releases them in the order in which they arrived; events that arrive during
/// the release queue behind them.
final class ConsentGate: Sendable {
    private struct State {
        var consent: Consent
        var held: [RecordedEvent] = []
        /// Whether a thread is releasing held events. Meanwhile other threads only add to `held`.
        var isReleasing = false
    }

    /// The decision about one event.
    enum Verdict {
        case pass
        case held
        /// The user has not consented to it.
        case discarded
        /// It should be held, but the limit is reached.
        case full
    }

    private let state: Mutex<State>
    private let capacity: Int

    init(_ consent: Consent, capacity: Int) {
        state = Mutex(State(consent: consent))
        self.capacity = capacity
    }

    var consent: Consent { state.withLock { $0.consent } }

    /// The number of held events.
    var heldCount: Int { state.withLock { $0.held.count } }

    /// Decides about an event, and keeps it if it must be held.
    func admit(_ event: RecordedEvent) -> Verdict {
        state.withLock { state in
            let isGranted = state.consent.isGranted(event.consentCategory)
            if isGranted && !state.isReleasing { return .pass }
            if !isGranted && state.consent.withheld == .discard { return .discarded }
            guard state.held.count < capacity else { return .full }
            state.held.append(event)
            return .held
        }
    }

    /// Changes the consent, and delivers the held events that it allows, in the calling thread. If another thread is
    /// delivering already, that thread applies the change.
    ///
    /// - Parameter isSettled: Called with the gate locked, when no event is left to deliver.
    /// - Returns: How many held events were discarded.
    func change(to consent: Consent, deliver: (RecordedEvent) -> Void, isSettled: (Consent) -> Void) -> Int {
        var discarded = 0
        let isMine = state.withLock { state in
            state.consent = consent
            defer { state.isReleasing = true }
            // If another thread is releasing, it sees the new consent.
            return !state.isReleasing
        }
        while isMine {
            let events = state.withLock { state -> [RecordedEvent] in
                let granted = state.held.filter { state.consent.isGranted($0.consentCategory) }
                let withheld = state.held.filter { !state.consent.isGranted($0.consentCategory) }
                state.held = state.consent.withheld == .hold ? withheld : []
                discarded += withheld.count - state.held.count
                if granted.isEmpty {
                    state.isReleasing = false
                    isSettled(state.consent)
                }
                return granted
            }
            if events.isEmpty { break }
            for event in events { deliver(event) }
        }
        return discarded
    }
}
