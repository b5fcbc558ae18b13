import Delivery
import Platform

/// Sends batches to a service over HTTP. Its worker must run on the engine's thread: everything
/// here does, but `init`.
///
/// Invariants: at most `maximumRequests` requests under way; each batch is settled once, when
/// its last request has ended; nothing that may hold a secret (header values, the URL but for
/// scheme and host) gets into a reason. It never waits: `deliver` returns at once, the answers come
/// back through the engine.
package final class HTTPDestination: Destination {
    package let limits = DestinationLimits()

    private let options: HTTPOptions
    private let request: HTTPRequest
    private let engine: HTTPEngine
    private let clock: any Clock
    private let maximumRequests: Int

    private var gzip: Gzip?
    /// Handles that are not in use; with those in use never more than `maximumRequests`.
    private var idle: [EasyHandle] = []
    private var underWay: [ObjectIdentifier: (easy: EasyHandle, delivery: HTTPDelivery)] = [:]
    /// Batches of which not every request was sent, in the order of their arrival. Their number
    /// is bounded by the worker's window.
    private var waiting: [HTTPDelivery] = []

    /// Checks the options; touches neither network nor disk.
    /// - Throws: what is wrong with which option.
    package init(_ options: HTTPOptions, engine: HTTPEngine, clock: any Clock = SystemClock()) throws(HTTPOptionsError) {
        request = try HTTPRequest(options)
        self.options = options
        self.engine = engine
        self.clock = clock
        maximumRequests = max(1, options.maximumRequests)
    }

    /// Throws what `init` would throw for these options; touches nothing.
    package static func validate(_ options: HTTPOptions) throws(HTTPOptionsError) {
        _ = try HTTPRequest(options)
    }

    package func open(from cursor: Cursor) throws -> UInt64? {
        if idle.isEmpty { idle.append(try request.makeHandle()) }
        if options.gzip && gzip == nil {
            gzip = Gzip()
            if gzip == nil { throw CurlError(description: "no memory for compression") }
        }
        return nil
    }

    package func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
        if batch.events.isEmpty {
            claim.settle(.all(.delivered))
            return
        }
        waiting.append(HTTPDelivery(batch, claim, format: options.format))
        sendWhatMay()
    }

    package func checkpoint() throws -> [UInt8]? { nil }

    package func close() {
        let sent = underWay.values
        let unsent = waiting
        underWay = [:]
        waiting = []
        idle = []
        for (easy, _) in sent { engine.cancel(easy) }
        for (_, delivery) in sent { delivery.abandon("the destination was closed before the answer came") }
        for delivery in unsent { delivery.abandon("the destination was closed before it was sent") }
    }

    // MARK: Requests

    private func sendWhatMay() {
        while underWay.count < maximumRequests, let delivery = waiting.first {
            if let number = delivery.takeRequest() {
                send(number, of: delivery)
            } else {
                waiting.removeFirst()
            }
        }
    }

    private func send(_ number: Int, of delivery: HTTPDelivery) {
        do {
            var body = delivery.body(of: number)
            if let gzip {
                guard let smaller = gzip.compress(body.span) else {
                    delivery.finish(number, .tooLarge(reason: "the batch is too large to compress"), haltsOthers: false)
                    return
                }
                body = smaller
            }
            let easy = try idle.popLast() ?? request.makeHandle()
            try easy.prepare(body)
            try engine.begin(easy) { [weak self] end in self?.complete(easy, end, number, of: delivery) }
            underWay[ObjectIdentifier(easy)] = (easy, delivery)
        } catch {
            delivery.finish(number, .retry(reason: "\(error)"), haltsOthers: true)
        }
    }

    private func complete(_ easy: EasyHandle, _ end: HTTPTransferEnd, _ number: Int, of delivery: HTTPDelivery) {
        underWay[ObjectIdentifier(easy)] = nil
        let (outcome, concernsService) = read(easy, end)
        idle.append(easy)
        delivery.finish(number, outcome, haltsOthers: concernsService)
        sendWhatMay()
    }

    private func read(_ easy: EasyHandle, _ end: HTTPTransferEnd) -> (Outcome, concernsService: Bool) {
        // A server that refuses a body may close before it has read all of it: its word counts, if
        // it got through. A good word that was cut short does not.
        if case .failed(let text) = end, easy.status < 300 {
            return (.retry(reason: "\(request.target.shown): \(Printable.line(text, limit: 200))"), true)
        }
        let answer = HTTPAnswer(
            status: easy.status, retryAfter: easy.header("Retry-After"), location: easy.header("Location"),
            body: easy.answer)
        return (answer.outcome(wallClock: clock.wallClock(), hiding: request.secrets), answer.concernsService)
    }
}
