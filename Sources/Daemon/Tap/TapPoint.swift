import Control
import Delivery
import Events

/// Where taps watch one destination. Any thread.
final class TapPoint: DeliveryTap {
    private let live: LiveTap
    private let destination: String
    private let secrets: [[UInt8]]

    /// - Parameter secrets: texts that the destination's output may hold, and that no tap may show.
    init(_ live: LiveTap, destination: String, secrets: [[UInt8]]) {
        self.live = live
        self.destination = destination
        self.secrets = secrets
    }

    var watchesRouting: Bool { live.isWatching && live.watches(.routed, of: destination) }
    var watchesSending: Bool { live.isWatching && live.watches(.sent, of: destination) }

    func take(_ run: RoutedRun, of events: EventBatch) { put(.routed(run, events), .routed) }

    func take(sent batch: OutboundBatch, _ settlement: DeliveryClaim.Settlement) {
        put(.sent(batch, settlement), .sent)
    }

    /// Takes dead letters that are stored.
    func take(_ letters: [DeadLetter]) {
        if live.isWatching { put(.deadLettered(letters), .refused) }
    }

    private func put(_ content: TapItem.Content, _ stage: TapOrder.Stage) {
        live.take(TapItem(content: content, destination: destination, secrets: secrets), stage, of: destination)
    }
}

/// Stores dead letters, and shows them to the taps of their destination.
final class TappedDeadLetters: DeadLetterSink {
    private let sink: any DeadLetterSink
    private let tap: TapPoint

    init(_ sink: any DeadLetterSink, _ tap: TapPoint) {
        self.sink = sink
        self.tap = tap
    }

    func append(_ letters: [DeadLetter]) throws {
        try sink.append(letters)
        tap.take(letters)
    }

    func nextRetry() throws -> DeadLetterRetry? { try sink.nextRetry() }
    func finish(_ retry: DeadLetterRetry) throws { try sink.finish(retry) }
}
