import Delivery
import Platform

/// Keeps a destination's credential current: obtains it before the first request, and again before it ends. One
/// attempt at a time. Use only within the worker's turns.
struct CredentialKeeper {
    /// A credential is obtained anew so long before it ends, or when a quarter of its life is left, if that is later.
    private static let margin: Int64 = 300 * 1_000_000_000
    /// The shortest time between two attempts while a credential is still of use.
    private static let pause: Int64 = 10 * 1_000_000_000
    /// A refused request makes a credential suspect only if it is older.
    private static let youth: Int64 = 30 * 1_000_000_000

    private static let hasEnded = CredentialError(
        "the credential that was obtained has already ended; check this machine's clock")

    enum State {
        case ready(Credential)
        /// An answer is on its way. Ask again after it.
        case waiting
        case failed(CredentialError)
    }

    /// A credential and the time at which it was obtained.
    private struct Held {
        var credential: Credential
        var since: Int64
    }

    private struct Attempt {
        var easy: EasyHandle
        var then: @Sendable (CredentialAnswer) throws(CredentialError) -> CredentialStep
    }

    private let provider: any CredentialProvider
    private let options: HTTPOptions
    private let engine: HTTPEngine
    private let mailbox: HTTPMailbox
    private let secrets: [[UInt8]]
    private var held: Held?
    private var attempt: Attempt?
    private var lastAttempt: Int64?

    init(_ provider: any CredentialProvider, _ options: HTTPOptions, _ engine: HTTPEngine, _ mailbox: HTTPMailbox) {
        self.provider = provider
        self.options = options
        self.engine = engine
        self.mailbox = mailbox
        secrets = options.secrets.filter { $0.utf8.count >= 8 }.map { Array($0.utf8) }
    }

    func isUsable(at now: Int64) -> Bool { usable(at: now) != nil }

    /// The credential to use now. Begins to obtain one if that is necessary.
    mutating func state(at now: Int64) -> State {
        if let credential = usable(at: now) {
            if attempt == nil, isDue(at: now), isPast(lastAttempt ?? .min, by: Self.pause, at: now) {
                // The one at hand is still of use.
                try? begin(at: now)
            }
            return .ready(usable(at: now) ?? credential)
        }
        guard attempt == nil else { return .waiting }
        do throws(CredentialError) {
            try begin(at: now)
            if let credential = usable(at: now) { return .ready(credential) }
            return attempt == nil ? .failed(Self.hasEnded) : .waiting
        } catch {
            return .failed(shown(error))
        }
    }

    /// The wall clock may have been set back. Then nobody knows, and more time has passed rather than less.
    private func isPast(_ time: Int64, by duration: Int64, at now: Int64) -> Bool {
        now < time || now.saturatingSubtract(time) >= duration
    }

    private func usable(at now: Int64) -> Credential? {
        guard let held, held.credential.expires.map({ $0 > now }) ?? true else { return nil }
        return held.credential
    }

    private func isDue(at now: Int64) -> Bool {
        guard let held, let expires = held.credential.expires else { return false }
        return expires.saturatingSubtract(now) <= min(Self.margin, expires.saturatingSubtract(held.since) / 4)
    }

    private mutating func begin(at now: Int64) throws(CredentialError) {
        lastAttempt = now
        try take(try provider.begin(at: now), at: now)
    }

    private mutating func take(_ step: CredentialStep, at now: Int64) throws(CredentialError) {
        switch step {
        case .done(let credential): held = Held(credential: credential, since: now)
        case .send(let request, let then):
            let easy = try handle(for: request)
            attempt = Attempt(easy: easy, then: then)
            engine.begin(easy, mailbox)
        }
    }

    private func handle(for request: CredentialRequest) throws(CredentialError) -> EasyHandle {
        do {
            var own = HTTPOptions(url: request.url, version: options.version)
            own.method = request.method
            own.format = .single
            own.headers = request.headers
            own.connectTimeout = options.connectTimeout
            own.timeout = options.timeout
            own.tls.caFile = options.credentialCAFile ?? options.tls.caFile
            own.tls.minimumVersion = options.tls.minimumVersion
            if !request.isLocal {
                own.proxy = options.proxy
                own.proxyExceptions = options.proxyExceptions
            }
            let easy = try HTTPRequest(own).makeHandle()
            try easy.prepare(request.method.hasBody ? request.body : nil)
            return easy
        } catch {
            throw CredentialError("the request for a credential cannot be made: \(error)")
        }
    }

    /// Takes the end of a transfer.
    /// - Returns: nil: it was not one of the keeper's. Otherwise the error that ended the attempt, if one did.
    mutating func complete(_ completion: HTTPCompletion, at now: Int64) -> Result<Void, CredentialError>? {
        guard let attempt, attempt.easy === completion.easy else { return nil }
        self.attempt = nil
        let easy = completion.easy
        do throws(CredentialError) {
            if case .failed(let text) = completion.end, easy.status == 0 || !easy.responseWasCut {
                let host = CurlURL(easy.effectiveURL).map { "\($0.scheme)://\($0.host)" } ?? "the service"
                throw CredentialError("\(host) gave no credential: \(text)")
            }
            guard !easy.responseWasCut else { throw CredentialError("the answer with the credential is too long") }
            try take(try attempt.then(CredentialAnswer(status: easy.status, body: easy.responseBody)), at: now)
            // Otherwise it would be asked for again at once, for ever.
            guard self.attempt != nil || usable(at: now) != nil else { throw Self.hasEnded }
            return .success(())
        } catch {
            return .failure(shown(error))
        }
    }

    /// A service has refused a request.
    /// - Returns: whether another credential may help. Then it is obtained anew.
    mutating func mayReplace(_ used: Credential, at now: Int64) -> Bool {
        guard let held else { return true }
        // It has been replaced meanwhile.
        guard held.credential.proof == used.proof else { return true }
        guard isPast(held.since, by: Self.youth, at: now) else { return false }
        self.held = nil
        return true
    }

    mutating func close() {
        if let attempt { engine.cancel(attempt.easy) }
        attempt = nil
    }

    private func shown(_ error: CredentialError) -> CredentialError {
        let text = HTTPResponse(status: 0, body: Array(error.description.utf8)).excerpt(hiding: secrets)
        return CredentialError(text, isRefusal: error.isRefusal)
    }
}
