import Foundation
import PenstockPluginKit
import Synchronization

/// A source for tests: it offers the numbers 0, 1, 2 … on each of its lanes, from a thread of each lane.
final class CountingSource: Source {
    struct Settings: Decodable {
        var lanes: [String]
        /// The number of events of each lane.
        var count: Int
        var perOffer: Int?
        var position: String?
        var connects: Bool?
    }

    static let plugin = Plugin(name: "counting", version: "1.0", summary: "Counts")
    static let source = SourceDescription(schema: #"{"type": "object"}"#, needs: "")

    private let settings: Settings
    private let host: SourceHost
    private let pending: PendingOffers<Int>
    private let acknowledged = Mutex<[String: Int]>([:])
    private let running = Monitor(0)
    private let hasEnded = Monitor(false)

    init(settings: Settings, host: SourceHost) throws {
        guard settings.count >= 0 else { throw SourceError("settings.count: must be 0 or more") }
        self.settings = settings
        self.host = host
        pending = PendingOffers(host)
    }

    func connect() throws {
        if settings.connects == false { throw SourceError("the broker does not answer") }
    }

    func start(_ lanes: [Lane]) {
        for name in settings.lanes {
            let first = lanes.first { $0.name == name }.flatMap { Int($0.text) } ?? 0
            running.change { $0 += 1 }
            let lane = Counter(
                name: name, first: first, settings: settings, host: host, pending: pending, hasEnded: hasEnded)
            let running = running
            Thread.detachNewThread {
                lane.run()
                running.change { $0 -= 1 }
            }
        }
    }

    func ready() { pending.ready() }

    func durable(_ offer: DurableOffer) {
        guard let end = pending.durable(offer) else { return host.fail("unknown token \(offer.token)") }
        if offer.lane.text != settings.position ?? String(end) { host.fail("position \(offer.lane.text)") }
        for refusal in offer.refusals { host.log(.warning, refusal.reason, ["index": "\(refusal.index)"]) }
        let last = acknowledged.withLock { $0.updateValue(end, forKey: offer.lane.name) } ?? 0
        if end < last { host.fail("\(offer.lane.name): \(end) after \(last)") }
        host.count("acknowledged")
    }

    func stop() {
        pending.stop()
        host.gauge("pending_at_stop", Double(pending.count()))
    }

    func end() {
        hasEnded.change { $0 = true }
        _ = running.wait(.seconds(30)) { $0 == 0 ? true : nil }
        host.gauge("pending_at_end", Double(pending.count()))
    }
}

/// One lane.
private struct Counter: Sendable {
    let name: String
    let first: Int
    let settings: CountingSource.Settings
    let host: SourceHost
    let pending: PendingOffers<Int>
    let hasEnded: Monitor<Bool>

    func run() {
        host.laneOpened(name)
        defer { host.laneClosed(name) }
        var next = first
        var events = EventBuffer()
        while next < settings.count {
            events.removeAll()
            let end = min(settings.count, next + (settings.perOffer ?? 10))
            // Each third event is added as another type.
            for number in next..<end {
                switch number % 3 {
                case 0: events.append("{\"\(name)\":\(number)}")
                case 1: events.append(Array("{\"\(name)\":\(number)}".utf8))
                default: events.append(number % 100 == 50 ? "not an object" : "{\"\(name)\":\(number)}")
                }
            }
            let lane = Lane(name: name, position: settings.position ?? String(end))
            do {
                switch try pending.offer(events, lane: lane, receipt: end, waiting: .milliseconds(100)) {
                case .taken: next = end
                case .busy: continue
                case .stopped: return
                }
            } catch {
                return host.fail("\(error)")
            }
        }
        while !pending.isDurable(name, within: .milliseconds(100)) { if hasEnded.withLock({ $0 }) { return } }
        host.count("complete")
    }
}
