import DaemonConfiguration
import Delivery
import Destinations
import Events
import Platform
import Synchronization

/// Sends batches to an HTTP service outside of a daemon, to try a destination's configuration. One thread.
package final class TrialDelivery {
    package struct Answer: Sendable, Equatable {
        /// 0: no answer arrived.
        package var status: Int
        /// Its beginning, without secrets.
        package var excerpt: String
    }

    package struct Result: Sendable {
        /// Of each request, in the order of arrival.
        package var answers: [Answer]
        /// Of each event.
        package var verdicts: [Verdict]
    }

    package enum Verdict: Sendable, Equatable {
        case delivered
        /// It would be offered again: to a service that asked for it, or after an operator's action.
        case retried(reason: String), held(reason: String)
        /// It would become a dead letter.
        case rejected(reason: String)

        fileprivate init(_ outcome: Outcome) {
            switch outcome {
            case .delivered: self = .delivered
            case .retry(let reason, _, _): self = .retried(reason: reason)
            case .hold(let reason, _): self = .held(reason: reason)
            case .rejected(let reason, _), .tooLarge(let reason, _), .someRejected(let reason, _):
                self = .rejected(reason: reason)
            }
        }
    }

    private let engine: HTTPEngine
    private let destination: HTTPDestination
    private let bell = Doorbell()
    private let timeout: Duration
    private var answers: [Answer] = []

    /// - Parameter http: with its secrets.
    /// - Throws: an option that is invalid, or an error of libcurl.
    package init(_ http: Configuration.HTTP) throws {
        engine = try HTTPEngine()
        destination = try HTTPDestination(HTTPOptions(http, inFlight: 1...1, of: "penstock-test"), engine: engine)
        // A credential may have to be obtained first, with up to three requests.
        timeout = http.timeout * 4
        engine.start()
        destination.attach { [bell] in bell.ring() }
        do {
            _ = try destination.open(from: Cursor(position: 0))
        } catch {
            engine.stop()
            throw error
        }
        destination.onAnswer = { [unowned self] in answers.append(Answer(status: $0, excerpt: $1)) }
    }

    deinit {
        destination.close()
        engine.stop()
    }

    /// - Parameter batch: it must not take the place of real events, for example of an object with their name: it gets
    ///   positions that no journal has.
    package func send(_ batch: OutboundBatch) -> Result {
        answers = []
        var batch = batch
        batch.livePosition = 0
        let first = UInt64.random(in: 1 << 62..<1 << 63)
        for index in batch.events.indices { batch.events[index].position = first + UInt64(index) }
        let settled = SettlementBox()
        let bell = bell
        destination.deliver(
            batch,
            DeliveryClaim {
                settled.put($0)
                bell.ring()
            })
        let end = SystemClock().now() + timeout
        while settled.value == nil, SystemClock().now() < end {
            bell.wait(until: end)
            destination.resume()
        }
        let outcomes: [Outcome] =
            switch settled.value {
            case .all(let outcome)?: Array(repeating: outcome, count: batch.events.count)
            case .each(let each)?: each
            case nil: Array(repeating: .retry(reason: "no answer came"), count: batch.events.count)
            }
        return Result(answers: answers, verdicts: outcomes.map(Verdict.init))
    }
}

/// Any thread.
private final class SettlementBox: Sendable {
    private let settlement = Mutex<DeliveryClaim.Settlement?>(nil)

    func put(_ settlement: DeliveryClaim.Settlement) { self.settlement.withLock { $0 = settlement } }
    var value: DeliveryClaim.Settlement? { settlement.withLock { $0 } }
}
