import Synchronization

/// Where events wait for consent. It lets them go in the order in which they came, and those that come
/// meanwhile queue behind them.
final class ConsentGate: Sendable {
    private struct State {
        var consent: Consent
        var held: [RecordedEvent] = []
        /// Whether some thread is handing on what was held: others then only add to it.
        var isReleasing = false
    }

    /// What becomes of one event.
    enum Verdict {
        case pass
        case held
        /// Nobody agreed to it.
        case discarded
        /// It was to be held, and there is no room.
        case full
    }

    private let state: Mutex<State>
    private let capacity: Int

    init(_ consent: Consent, capacity: Int) {
        state = Mutex(State(consent: consent))
        self.capacity = capacity
    }

    var consent: Consent { state.withLock { $0.consent } }

    /// Events that wait.
    var heldCount: Int { state.withLock { $0.held.count } }

    /// Decides about an event, and keeps it if it is to wait.
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

    /// Takes another answer, and hands on what it allows, in this thread.
    ///
    /// - Parameter isSettled: called with the gate locked, when nothing is left to hand on.
    /// - Returns: how many of the held events were discarded.
    func change(to consent: Consent, deliver: (RecordedEvent) -> Void, isSettled: (Consent) -> Void) -> Int {
        var discarded = 0
        let isMine = state.withLock { state in
            state.consent = consent
            defer { state.isReleasing = true }
            // The thread that is at it sees the new answer.
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
