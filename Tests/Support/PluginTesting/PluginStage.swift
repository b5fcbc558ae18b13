import Delivery
import Destinations
import Events
import Foundation
import Platform
import Synchronization
import Telemetry

/// A plugin destination with the parts of a daemon around it: a log, and code that offers batches and records their
/// settlements.
package final class PluginStage {
    package let destination: PluginDestination
    package let log = Log()
    package let telemetry: Telemetry
    private let settled = Settled()

    package final class Log: LogSink {
        package let lines = Mutex<[String]>([])

        package init() {}

        package func write(_ level: Level, _ line: String) { lines.withLock { $0.append("\(level): \(line)") } }
    }

    /// The settlements of each batch, by the number of its offer.
    private final class Settled: Sendable {
        let answers = Mutex<[Int: [DeliveryClaim.Settlement]]>([:])
    }

    package init(
        _ plugin: String = "misbehaving", in directory: PluginTestDirectory, settings: String = "{}",
        deadline: Duration = .seconds(60), journal: String = "journal-1",
        isolation: PluginDestinationOptions.Isolation = .process, bound: (any PositionBound)? = nil,
        adjust: (inout PluginDestinationOptions) -> Void = { _ in }
    ) throws {
        let clock = SystemClock()
        telemetry = Telemetry(sink: log) { clock.now().nanoseconds }
        var options = PluginDestinationOptions(
            destination: "warehouse", plugin: plugin, directories: [directory.path], settings: settings,
            deadline: deadline, journal: journal)
        options.isolation = isolation
        options.hostProgram = try TestCompiler.built("penstock-plugin-host")
        adjust(&options)
        destination = PluginDestination(options, telemetry: telemetry, bound: bound)
    }

    private var offered = 0

    /// Offers events with these positions. Returns the number of the offer.
    @discardableResult
    package func offer(_ positions: [UInt64]) -> Int {
        offer(Self.batch(positions.map { ($0, .track, Self.event($0)) }))
    }

    @discardableResult
    package func offer(_ batch: OutboundBatch) -> Int {
        let number = offered
        offered += 1
        destination.deliver(
            batch,
            DeliveryClaim { [settled] answer in settled.answers.withLock { $0[number, default: []].append(answer) } })
        return number
    }

    /// Offers the events until all are delivered, as the worker does: it opens the destination again if it has failed.
    package func deliver(_ positions: [UInt64], from cursor: Cursor = Cursor(position: 0)) -> Bool {
        pluginEventually {
            if destination.failure != nil {
                destination.close()
                do { _ = try destination.open(from: cursor) } catch { return false }
            }
            return outcomes(offer(positions), count: positions.count)?.allSatisfy { $0 == .delivered } == true
        }
    }

    /// Every settlement of the batch: exactly one, if all is well.
    package func answers(_ number: Int) -> [DeliveryClaim.Settlement] { settled.answers.withLock { $0[number] ?? [] } }

    /// One outcome for each of the batch's events, if it was settled exactly once.
    package func outcomes(_ number: Int, count: Int) -> [Outcome]? {
        let answers = answers(number)
        guard answers.count == 1 else { return nil }
        switch answers[0] {
        case .all(let outcome): return Array(repeating: outcome, count: count)
        case .each(let outcomes): return outcomes.count == count ? outcomes : nil
        }
    }

    package func count(_ event: String) -> UInt64 { telemetry.counts()[event] ?? 0 }

    package static func event(_ position: UInt64) -> String {
        #"{"type":"track","event":"Order Completed","userId":"u\#(position)","messageId":"m-\#(position)","properties":{"total":12.50}}"#
    }

    package static func batch(
        _ events: [(position: UInt64, kind: EventKind, json: String)], receivedAt: Int64 = 1_700_000_000_123_456_789
    ) -> OutboundBatch {
        var batch = OutboundBatch()
        for (position, kind, json) in events {
            let start = batch.payload.count
            batch.payload.append(contentsOf: json.utf8)
            let end = batch.payload.count
            batch.payload.append(UInt8(ascii: "\n"))
            var id = end..<end
            if let range = json.range(of: #""messageId":"([^"]*)""#, options: .regularExpression) {
                let text = json[range].dropFirst(13).dropLast()
                id =
                    start + json.utf8.distance(from: json.startIndex, to: text.startIndex)..<start
                    + json.utf8.distance(from: json.startIndex, to: text.endIndex)
            }
            batch.events.append(
                OutboundEvent(
                    position: position, receivedAt: receivedAt, kind: kind, payload: start..<end, messageID: id))
        }
        return batch
    }
}

/// Waits until the condition holds, at most for this time.
package func pluginEventually(within limit: Duration = .seconds(60), _ condition: () -> Bool) -> Bool {
    let end = SystemClock().now() + limit
    while !condition() {
        if SystemClock().now() > end { return false }
        usleep(1000)
    }
    return true
}
