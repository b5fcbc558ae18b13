import CCurl
import Delivery
import Platform

/// Sends batches to a service over HTTP. It builds requests and reads responses in its worker's turns, on whichever
/// thread runs the turn; the engine's thread does the transfers. Call every member except `init` within a turn.
///
/// Invariants: the number of requests in flight never exceeds the options' upper bound. Each batch is settled once,
/// when its last request has ended. No reason holds anything that may be secret: no header value, and of the URL only
/// scheme and host. No call blocks: `deliver` returns at once, and responses arrive in the mailbox, which asks for a
/// turn.
package final class HTTPDestination: Destination {
    package var limits: DestinationLimits {
        Self.limits(isSplit: isSplit, inFlight: concurrency.current)
    }

    private static func limits(isSplit: Bool, inFlight: Int) -> DestinationLimits {
        // If a batch may take several requests, this type limits the requests, and Delivery does not limit the batches.
        isSplit ? DestinationLimits(eventsPerRequest: 1) : DestinationLimits(maximumInFlight: inFlight)
    }

    /// The limits of a destination with these options, at its highest concurrency.
    package static func limits(_ options: HTTPOptions) throws(HTTPOptionsError) -> DestinationLimits {
        limits(isSplit: try HTTPRequest.all(options).contains(where: \.isSplit), inFlight: options.requests.upperBound)
    }

    /// A request in flight.
    private struct Transfer {
        var easy: EasyHandle
        var delivery: HTTPDelivery
        /// The request's index in the delivery.
        var number: Int
        /// The number of redirects followed so far.
        var redirects: Int
        var since: Instant
        /// What the request was signed with.
        var credential: Credential?
    }

    private let options: HTTPOptions
    /// The kinds of request that an event's envelope may choose from.
    private let requests: [HTTPRequest]
    private let engine: HTTPEngine
    private let clock: any Clock
    /// True if a batch may take several requests.
    private let isSplit: Bool
    private var concurrency: ConcurrencyLimit
    /// nil: no event is ever changed.
    package let mended: MendedEvents?

    /// Receives the status and the beginning of each answer, without secrets. Called within the worker's turns.
    package var onAnswer: ((_ status: Int, _ excerpt: String) -> Void)?

    private let mailbox = HTTPMailbox()
    /// nil: nothing has to be obtained before a request.
    private var credentials: CredentialKeeper?
    private var compressor: BodyCompressor?
    /// Unused handles, by kind of request. Together with those in use they never exceed the limit on requests in
    /// flight.
    private var idle: [[EasyHandle]]
    private var underWay: [ObjectIdentifier: Transfer] = [:]
    /// Batches with requests still to send, in order of arrival. The worker's window bounds their number.
    private var waiting: [HTTPDelivery] = []

    /// Checks the options. Uses neither network nor disk.
    /// - Throws: the first option that is invalid, and why.
    package init(_ options: HTTPOptions, engine: HTTPEngine, clock: any Clock = SystemClock()) throws(HTTPOptionsError)
    {
        requests = try Self.checkedRequests(options)
        idle = Array(repeating: [], count: requests.count)
        self.options = options
        self.engine = engine
        self.clock = clock
        isSplit = requests.contains(where: \.isSplit)
        mended =
            requests.contains { ($0.check?.mends ?? false) || ($0.bodyCheck?.mends ?? false) } ? MendedEvents() : nil
        concurrency = ConcurrencyLimit(options.requests)
        credentials = options.credentials.map { CredentialKeeper($0, options, engine, mailbox) }
    }

    /// Every error that `init` could throw for these options or their alternatives. Uses neither network nor disk.
    package static func problems(_ options: HTTPOptions) -> [(request: Int?, error: HTTPOptionsError)] {
        guard !options.alternatives.isEmpty else { return HTTPRequest.problems(options).map { (nil, $0) } }
        return options.alternatives.enumerated().flatMap { number, options in
            HTTPRequest.problems(options).map { (number, $0) }
        }
    }

    private static func checkedRequests(_ options: HTTPOptions) throws(HTTPOptionsError) -> [HTTPRequest] {
        if let first = problems(options).first { throw first.error }
        return try HTTPRequest.all(options)
    }

    package func attach(wake: @escaping @Sendable () -> Void) { mailbox.attach(wake: wake) }

    package func resume() {
        for completion in mailbox.take() { complete(completion) }
    }

    package func open(from cursor: Cursor) throws -> UInt64? {
        // Let libcurl reject an invalid option now rather than at the first batch.
        for number in idle.indices where idle[number].isEmpty { idle[number].append(try requests[number].makeHandle()) }
        if options.compression != .none && compressor == nil {
            compressor = BodyCompressor(options.compression)
            if compressor == nil { throw CurlError(description: "out of memory for compression") }
        }
        return nil
    }

    package func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
        if batch.events.isEmpty {
            claim.settle(.all(.delivered))
            return
        }
        let plan = RequestPlan(batch, requests, at: clock.wallClock())
        mended?.add(plan)
        waiting.append(HTTPDelivery(plan, count: batch.events.count, claim))
        sendWhatMay()
    }

    /// The service keeps what it acknowledged, and no state is saved with the cursor.
    package var settlesAtOnce: Bool { true }

    package func checkpoint() throws -> [UInt8]? { nil }

    package func close() {
        let sent = underWay.values
        let unsent = waiting
        underWay = [:]
        waiting = []
        idle = Array(repeating: [], count: requests.count)
        credentials?.close()
        for transfer in sent { engine.cancel(transfer.easy) }
        for transfer in sent { transfer.delivery.abandon("the destination was closed before the answer came") }
        for delivery in unsent { delivery.abandon("the destination was closed before the batch was sent") }
    }

    // MARK: Requests

    private func sendWhatMay() {
        while underWay.count < concurrency.current, let delivery = waiting.first {
            var credential: Credential?
            switch credentials?.state(at: clock.wallClock()) {
            case nil: break
            case .ready(let ready): credential = ready
            case .waiting: return
            case .failed(let error): return endWaiting(error)
            }
            if let number = delivery.takeRequest() {
                send(number, of: delivery, credential)
            } else {
                waiting.removeFirst()
            }
        }
    }

    /// Without a credential, nothing can be sent.
    private func endWaiting(_ error: CredentialError) {
        let unsent = waiting
        waiting = []
        for delivery in unsent {
            delivery.endUnsent(error.isRefusal ? .hold(reason: "\(error)") : .retry(reason: "\(error)"))
        }
    }

    private func send(_ number: Int, of delivery: HTTPDelivery, _ credential: Credential?) {
        do {
            let kind = delivery.request(number).number
            try begin(try idle[kind].popLast() ?? requests[kind].makeHandle(), number, of: delivery, credential)
        } catch {
            delivery.finish(number, .all(.retry(reason: "\(error)")), haltsOthers: true)
        }
    }

    /// - Parameters:
    ///   - redirects: the number of redirects followed so far for this request.
    ///   - hop: the target of the last redirect; nil: the configured URL. If given, `idleHandle` is nil.
    private func begin(
        _ idleHandle: EasyHandle?, _ number: Int, of delivery: HTTPDelivery, _ credential: Credential?,
        redirects: Int = 0, following hop: HTTPRedirect.Hop? = nil
    ) throws {
        let planned = delivery.request(number)
        let request = requests[planned.number]
        var body = request.method.hasBody ? delivery.body(of: number) : nil
        if let compressor, let whole = body {
            guard let smaller = compressor.compress(whole.span) else {
                if let idleHandle { idle[planned.number].append(idleHandle) }
                delivery.finish(
                    number, .all(.tooLarge(reason: "the batch is too large to compress")), haltsOthers: false)
                return
            }
            body = smaller
        }
        let signature = try request.signature(
            of: body, url: hop?.url ?? planned.url, headers: planned.headers, credential, at: clock.wallClock())
        let headers = planned.headers + signature
        let easy = try idleHandle ?? request.makeHandle(following: hop, headers: headers)
        if hop == nil, request.varies {
            try easy.set(CURLOPT_URL, planned.url)
            try easy.set(CURLOPT_HTTPHEADER, headers)
        }
        try easy.prepare(body)
        underWay[ObjectIdentifier(easy)] = Transfer(
            easy: easy, delivery: delivery, number: number, redirects: redirects, since: clock.now(),
            credential: credential)
        engine.begin(easy, mailbox)
    }

    private func complete(_ completion: HTTPCompletion) {
        if let result = credentials?.complete(completion, at: clock.wallClock()) {
            if case .failure(let error) = result, credentials?.isUsable(at: clock.wallClock()) != true {
                endWaiting(error)
            } else {
                sendWhatMay()
            }
            return
        }
        let (places, easy) = (underWay.count, completion.easy)
        // No transfer: the destination was closed in the meantime.
        guard let transfer = underWay.removeValue(forKey: ObjectIdentifier(easy)) else { return }
        let (delivery, number) = (transfer.delivery, transfer.number)
        // A handle that followed a redirect was made for the redirect's target, so it is not reused.
        if transfer.redirects == 0 { idle[delivery.request(number).number].append(easy) }
        if !follow(easy, number, of: delivery, transfer) {
            let result = read(easy, completion.end, number, of: delivery, transfer.credential)
            let isResent = result.refusesCredential && replaceCredential(of: transfer) && delivery.takeBack(number)
            concurrency.ended(
                completion.at, after: completion.at - transfer.since, underWay: places,
                failed: !isResent && (result.concernsService || result.settlement.isRetry))
            if isResent {
                if !waiting.contains(where: { $0 === delivery }) { waiting.insert(delivery, at: 0) }
            } else {
                delivery.finish(number, result.settlement, haltsOthers: result.concernsService)
            }
        }
        sendWhatMay()
    }

    /// - Returns: whether the request may be sent again, with another credential.
    private func replaceCredential(of transfer: Transfer) -> Bool {
        guard let used = transfer.credential else { return false }
        return credentials?.mayReplace(used, at: clock.wallClock()) ?? false
    }

    /// Follows a redirect if the configuration allows it.
    private func follow(_ easy: EasyHandle, _ number: Int, of delivery: HTTPDelivery, _ transfer: Transfer) -> Bool {
        let planned = delivery.request(number)
        let target = requests[planned.number].target
        guard transfer.redirects < options.maximumRedirects, (300..<400).contains(easy.status),
            let hop = HTTPRedirect.follow(
                status: easy.status, location: easy.header("Location"), origin: planned.url,
                current: easy.effectiveURL),
            hop.staysAtOrigin || target.unixSocket == nil
        else { return false }
        do {
            try begin(nil, number, of: delivery, transfer.credential, redirects: transfer.redirects + 1, following: hop)
        } catch {
            delivery.finish(number, .all(.retry(reason: "\(error)")), haltsOthers: true)
        }
        return true
    }

    private func read(
        _ easy: EasyHandle, _ end: HTTPTransferEnd, _ number: Int, of delivery: HTTPDelivery, _ credential: Credential?
    ) -> (settlement: DeliveryClaim.Settlement, concernsService: Bool, refusesCredential: Bool) {
        let planned = delivery.request(number)
        let request = requests[planned.number]
        // A server that rejects a body may close the connection before it has read all of it. Its error status counts
        // if it arrived; a success status on a truncated transfer does not.
        if case .failed(let text) = end, easy.status < 300 {
            return (.all(.retry(reason: "\(request.target.shown): \(Printable.line(text, limit: 200))")), true, false)
        }
        let response = HTTPResponse(
            status: easy.status, retryAfter: easy.header("Retry-After"), location: easy.header("Location"),
            body: easy.responseBody)
        let secrets = request.secrets + (credential?.hidden ?? [])
        onAnswer?(response.status, response.excerpt(hiding: secrets))
        let reading = ResponseReading(
            response, wasCut: easy.responseWasCut || end != .responded, wallClock: clock.wallClock(),
            hiding: secrets,
            count: planned.events.count, rules: request.responseRules, messageIDs: { delivery.messageIDs(of: number) })
        let settlement = reading.settlement(by: request.responseRules)
        // The rules may say that a 403 is about something else.
        let refusesCredential = response.refusesCredential && (settlement.isHold || response.status == 400)
        return (settlement, response.concernsService || settlement.isHold, refusesCredential)
    }
}

extension DeliveryClaim.Settlement {
    fileprivate var isRetry: Bool { if case .all(.retry) = self { true } else { false } }
    fileprivate var isHold: Bool { if case .all(.hold) = self { true } else { false } }
}
