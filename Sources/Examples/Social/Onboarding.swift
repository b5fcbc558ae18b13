import Penstock

enum OnboardingEvent: AnalyticsEvent, Equatable {
    case onboarding(stepsSeen: Int, isSkipped: Bool)
    case stepShown(step: String)
}

/// The steps of the tour for new users.
enum OnboardingStep: String, CaseIterable {
    case welcome, interests, friends, notifications
}

struct OnboardingRegistry: Sendable {
    let events: any EventSending

    func begin() -> OnboardingTour { OnboardingTour(events) }
}

/// One tour through the steps, with its duration. The owner must end it with `finish` or `skip`. Both consume the tour,
/// so the compiler rejects a second call.
struct OnboardingTour: ~Copyable {
    private let events: any EventSending
    private let timer: EventTimer<OnboardingEvent>
    private var seen: Set<OnboardingStep> = []

    init(_ events: any EventSending) {
        self.events = events
        timer = events.start(OnboardingEvent.onboarding(stepsSeen: 0, isSkipped: false))
    }

    mutating func show(_ step: OnboardingStep) {
        // Going back to a step does not record it again.
        guard seen.insert(step).inserted else { return }
        events.track(OnboardingEvent.stepShown(step: step.rawValue))
    }

    consuming func finish() { timer.stop(with: .onboarding(stepsSeen: seen.count, isSkipped: false)) }

    consuming func skip() { timer.stop(with: .onboarding(stepsSeen: seen.count, isSkipped: true)) }
}
