import Delivery
import Platform

/// Sends batches to a service over HTTP. Its worker must run on the engine's thread: everything
/// here does, but `init`.
///
/// Invariants: at most as many requests under way as the options' upper bound says; each batch is settled once, when
/// its last request has ended; nothing that may hold a secret (header values, the URL but for
/// scheme and host) gets into a reason. It never waits: `deliver` returns at once, the answers come
/// back through the engine.
package final class HTTPDestination: Destination {
    package var limits: DestinationLimits {
        // With one event a request it is the requests that are counted, here, not the batches.
        isSingle ? DestinationLimits(eventsPerRequest: 1) : DestinationLimits(maximumInFlight: concurrency.current)
    }

    private let options: HTTPOptions
    private let request: HTTPRequest
    private let engine: HTTPEngine
    private let clock: any Clock
    private let isSingle: Bool
    private var concurrency: ConcurrencyLimit

    private var compressor: BodyCompressor?
    /// Handles that are not in use; with those in use never more than may be under way.
    private var idle: [EasyHandle] = []
    private var underWay: [ObjectIdentifier: (easy: EasyHandle, delivery: HTTPDelivery, since: Instant)] = [:]
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
        isSingle = options.format == .single
        concurrency = ConcurrencyLimit(options.requests)
    }

    /// Throws what `init` would throw for these options; touches nothing.
    package static func validate(_ options: HTTPOptions) throws(HTTPOptionsError) {
        _ = try HTTPRequest(options)
    }

    package func open(from cursor: Cursor) throws -> UInt64? {
        if idle.isEmpty { idle.append(try request.makeHandle()) }
        if options.compression != .none && compressor == nil {
            compressor = BodyCompressor(options.compression)
            if compressor == nil { throw CurlError(description: "no memory for compression") }
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
        for (easy, _, _) in sent { engine.cancel(easy) }
        for (_, delivery, _) in sent { delivery.abandon("the destination was closed before the answer came") }
        for delivery in unsent { delivery.abandon("the destination was closed before it was sent") }
    }

    // MARK: Requests

    private func sendWhatMay() {
        while underWay.count < concurrency.current, let delivery = waiting.first {
            if let number = delivery.takeRequest() {
                send(number, of: delivery)
            } else {
                waiting.removeFirst()
            }
        }
    }

    private func send(_ number: Int, of delivery: HTTPDelivery) {
        do {
            try begin(try idle.popLast() ?? request.makeHandle(), number, of: delivery, redirects: 0)
        } catch {
            delivery.finish(number, .all(.retry(reason: "\(error)")), haltsOthers: true)
        }
    }

    /// - Parameter redirects: how many were followed for this request.
    private func begin(
        _ easy: EasyHandle, _ number: Int, of delivery: HTTPDelivery, redirects: Int
    ) throws(CurlError) {
        var body = delivery.body(of: number)
        if let compressor {
            guard let smaller = compressor.compress(body.span) else {
                if redirects == 0 { idle.append(easy) }
                delivery.finish(number, .all(.tooLarge(reason: "the batch is too large to compress")), haltsOthers: false)
                return
            }
            body = smaller
        }
        try easy.prepare(body)
        try engine.begin(easy) { [weak self] end in
            self?.complete(easy, end, number, of: delivery, redirects: redirects)
        }
        underWay[ObjectIdentifier(easy)] = (easy, delivery, clock.now())
    }

    private func complete(
        _ easy: EasyHandle, _ end: HTTPTransferEnd, _ number: Int, of delivery: HTTPDelivery, redirects: Int
    ) {
        let places = underWay.count
        let since = underWay.removeValue(forKey: ObjectIdentifier(easy))?.since
        // One that followed a redirect is made for where that led.
        if redirects == 0 { idle.append(easy) }
        if !follow(easy, number, of: delivery, redirects: redirects) {
            let (settlement, concernsService) = read(easy, end, number, of: delivery)
            if let since {
                let now = clock.now()
                concurrency.ended(
                    now, after: now - since, underWay: places, failed: concernsService || settlement.isRetry)
            }
            delivery.finish(number, settlement, haltsOthers: concernsService)
        }
        sendWhatMay()
    }

    /// Goes where a redirect leads, if the configuration allows that.
    private func follow(_ easy: EasyHandle, _ number: Int, of delivery: HTTPDelivery, redirects: Int) -> Bool {
        guard redirects < options.maximumRedirects, (300..<400).contains(easy.status),
            let hop = HTTPRedirect.follow(
                status: easy.status, location: easy.header("Location"), origin: request.target.url,
                current: easy.effectiveURL),
            hop.staysAtOrigin || request.target.unixSocket == nil
        else { return false }
        do {
            try begin(try request.makeHandle(following: hop), number, of: delivery, redirects: redirects + 1)
        } catch {
            delivery.finish(number, .all(.retry(reason: "\(error)")), haltsOthers: true)
        }
        return true
    }

    private func read(
        _ easy: EasyHandle, _ end: HTTPTransferEnd, _ number: Int, of delivery: HTTPDelivery
    ) -> (DeliveryClaim.Settlement, concernsService: Bool) {
        // A server that refuses a body may close before it has read all of it: its word counts, if
        // it got through. A good word that was cut short does not.
        if case .failed(let text) = end, easy.status < 300 {
            return (.all(.retry(reason: "\(request.target.shown): \(Printable.line(text, limit: 200))")), true)
        }
        let answer = HTTPAnswer(
            status: easy.status, retryAfter: easy.header("Retry-After"), location: easy.header("Location"),
            body: easy.answer)
        let reading = AnswerReading(
            answer, wasCut: easy.answerWasCut || end != .answered, wallClock: clock.wallClock(), hiding: request.secrets,
            count: delivery.eventsPerRequest, rules: options.answers, messageIDs: { delivery.messageIDs(of: number) })
        let settlement = reading.settlement(by: options.answers)
        return (settlement, answer.concernsService || settlement.isHold)
    }
}

extension DeliveryClaim.Settlement {
    fileprivate var isRetry: Bool { if case .all(.retry) = self { true } else { false } }
    fileprivate var isHold: Bool { if case .all(.hold) = self { true } else { false } }
}
