import DaemonConfiguration
import Delivery
import Destinations
import Routing

// Translates an HTTP destination's configuration to the options of Destinations.

extension HTTPOptions {
    /// - Parameters:
    ///   - inFlight: limits on requests in flight.
    ///   - name: the destination's.
    package init(_ http: Configuration.HTTP, inFlight: ClosedRange<Int>, of name: String = "") {
        self.init(url: http.url, version: Release.version)
        method =
            switch http.method {
            case .POST: .POST
            case .PUT: .PUT
            case .PATCH: .PATCH
            case .GET: .GET
            case .DELETE: .DELETE
            }
        format =
            switch http.format {
            case .ndjson: .ndjson
            case .lines: .lines
            case .array: .array
            case .single: .single
            case .text: .text
            case .form: .form
            case .xml: .xml
            }
        headers = http.headers.map { Header(name: $0.name, value: $0.value) }
        compression =
            switch http.compression {
            case .none: .none
            case .gzip: .gzip
            case .zstd: .zstd
            }
        tls.caFile = http.tls.caFile
        tls.certificateFile = http.tls.certificate
        tls.keyFile = http.tls.key
        tls.minimumVersion = http.tls.minimumVersion == .v1_3 ? .v1_3 : .v1_2
        tls.serverName = http.tls.serverName
        proxy = http.proxy
        proxyExceptions = http.proxyExceptions
        connectTimeout = http.connectTimeout
        timeout = http.timeout
        requests = inFlight
        maximumResponseBody = http.maximumAnswer
        responseRules = http.answers.map(ResponseRule.init)
        maximumRedirects = http.maximumRedirects
        secrets = http.secrets
        batchValues = http.batchValues.map(BatchValue.init)
        hasBody = http.hasBody
        bodyVaries = http.bodyVaries
        let (ofEvents, ofBody) = (http.limits.limits(of: .event), http.limits.limits(of: .body))
        if !ofEvents.limits.isEmpty { check = ofEvents }
        if !ofBody.limits.isEmpty { bodyCheck = ofBody }
        authenticate(http)
        destination = name
        alternatives = http.alternatives.map { HTTPOptions($0, inFlight: inFlight, of: name) }
        for index in alternatives.indices { alternatives[index].secrets = http.secrets }
    }
}

extension LimitSet: OutputCheck {}

extension BatchValue {
    fileprivate init(_ value: Configuration.BatchValue) {
        self =
            switch value {
            case .id: .id
            case .position: .position
            case .lastPosition: .lastPosition
            case .count: .count
            case .date: .date
            case .hour: .hour
            case .time: .time
            case .host: .host
            case .destination: .destination
            case .random: .random
            }
    }
}

extension ResponseRule {
    package init(_ answer: Configuration.Answer) {
        self.init()
        statuses = answer.statuses
        words = answer.words
        conditions = answer.conditions.map { Condition(path: ResponsePath($0.path), value: $0.value) }
        verdict = answer.verdict.map(Verdict.init) ?? .retry
        items = answer.items.map { items in
            var result = Items(lists: items.lists.map(ResponsePath.init))
            result.index = items.index.map(ResponsePath.init)
            result.id = items.id.map(ResponsePath.init)
            result.code = items.code.map(ResponsePath.init)
            for (code, verdict) in items.verdicts { result.verdicts[Code(code)] = Verdict(verdict) }
            result.listed = Verdict(items.listed)
            result.others = Verdict(items.others)
            return result
        }
        retryAfter = answer.retryAfter.map(ResponsePath.init)
        wait = answer.wait
    }
}

extension ResponseRule.Verdict {
    fileprivate init(_ verdict: Configuration.Answer.Verdict) {
        self =
            switch verdict {
            case .delivered: .delivered
            case .retry: .retry
            case .rejected: .rejected
            case .split: .split
            case .hold: .hold
            }
    }
}

extension ResponseRule.Code {
    fileprivate init(_ code: Configuration.Answer.Code) {
        self =
            switch code {
            case .text(let text): .text(text)
            case .range(let range): .range(range)
            case .absent: .absent
            }
    }
}
