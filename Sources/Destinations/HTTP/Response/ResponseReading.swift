import Delivery
import Events

/// Reads one response by a destination's rules: the outcome of each event of the request. Pure.
struct ResponseReading {
    let response: HTTPResponse
    /// The response was longer than the part that was read.
    let wasCut: Bool
    let wallClock: Int64
    let secrets: [[UInt8]]
    /// The number of events in the request.
    let count: Int
    /// The events' message ids, as text. Called only if a rule needs them.
    let messageIDs: () -> [String]

    private let json: JSONDocument?

    init(
        _ response: HTTPResponse, wasCut: Bool, wallClock: Int64, hiding secrets: [[UInt8]], count: Int,
        rules: [ResponseRule],
        messageIDs: @escaping () -> [String]
    ) {
        self.response = response
        self.wasCut = wasCut
        self.wallClock = wallClock
        self.secrets = secrets
        self.count = count
        self.messageIDs = messageIDs
        json = rules.contains(where: \.needsJSON) ? JSONDocument(response.body, maximumDepth: 64) : nil
    }

    func settlement(by rules: [ResponseRule]) -> DeliveryClaim.Settlement {
        // A response that should report on its events and does not, or whose end is missing, leaves the events'
        // outcomes unknown. Its success status then does not mean delivered.
        var isOpen = false
        for rule in rules where rule.statuses.isEmpty || rule.statuses.contains(where: { $0.contains(response.status) })
        {
            guard meets(rule) else {
                isOpen = isOpen || wasCut
                continue
            }
            guard let items = rule.items else { return .all(outcome(rule.verdict, rule, about: json)) }
            if wasCut {
                return .all(
                    .retry(reason: "HTTP \(response.status): the response is incomplete, or longer than max_answer"))
            }
            if let json, let each = outcomes(items, rule, in: json) { return .each(each) }
            isOpen = true
        }
        if isOpen, (200...299).contains(response.status) {
            return .all(
                .retry(
                    reason: "HTTP \(response.status), but the response does not report the events' results",
                    answer: excerpt(nil)))
        }
        return .all(response.outcome(wallClock: wallClock, hiding: secrets))
    }

    // MARK: Matching a rule

    /// Checks everything but the status.
    private func meets(_ rule: ResponseRule) -> Bool {
        if !rule.words.isEmpty, !rule.words.contains(where: { Self.holds(response.body, Array($0.utf8)) }) {
            return false
        }
        guard !rule.conditions.isEmpty else { return true }
        guard let json else { return false }
        return rule.conditions.allSatisfy { condition in
            let found = condition.path.values(in: json)
            guard let value = condition.value else { return found.allSatisfy(\.isNull) }
            return found.contains { $0.scalar(in: response.body) == value }
        }
    }

    /// Whether `text` holds `word`, and not only as part of a longer word or number.
    private static func holds(_ text: [UInt8], _ word: [UInt8]) -> Bool {
        guard let first = word.first, let last = word.last else { return true }
        func isWordByte(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), 0x80...:
                true
            default: false
            }
        }
        return text.ranges(of: word).contains { range in
            let before = range.lowerBound > 0 && isWordByte(first) && isWordByte(text[range.lowerBound - 1])
            let after = range.upperBound < text.count && isWordByte(last) && isWordByte(text[range.upperBound])
            return !before && !after
        }
    }

    // MARK: Event by event

    /// Returns nil if the response has none of the lists.
    private func outcomes(_ items: ResponseRule.Items, _ rule: ResponseRule, in json: JSONDocument) -> [Outcome]? {
        let lists = items.lists.flatMap { $0.values(in: json) }
        guard !lists.isEmpty else { return nil }
        let listed = lists.flatMap { list in if case .array(let items) = list.value { items } else { [list] } }
        var outcomes = [Outcome?](repeating: nil, count: count)
        var numbers: [String: Int]?
        var strangers = false
        for (place, item) in listed.enumerated() {
            let verdict = verdict(items, of: item)
            guard let number = number(items, of: item, at: place, &numbers), outcomes.indices.contains(number) else {
                strangers = strangers || verdict != .delivered
                continue
            }
            let outcome = outcome(verdict, rule, about: item)
            // If an event is named twice, the worse outcome counts.
            if outcomes[number].map({ outcome.severity > $0.severity }) ?? true { outcomes[number] = outcome }
        }
        // The service rejected an event that was not in the request. It may mean any of ours.
        let others =
            strangers
            ? Outcome.retry(reason: "HTTP \(response.status) names events that were not sent", answer: excerpt(nil))
            : otherOutcome(items.others)
        return outcomes.map { $0 ?? others }
    }

    private func number(
        _ items: ResponseRule.Items, of item: JSONDocument, at place: Int, _ numbers: inout [String: Int]?
    ) -> Int? {
        if let path = items.index {
            return path.first(in: item).flatMap { $0.scalar(in: response.body) }.flatMap { Int($0) }
        }
        if let path = items.id {
            if numbers == nil {
                numbers = Dictionary(
                    messageIDs().enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
            }
            return path.first(in: item).flatMap { $0.scalar(in: response.body) }.flatMap { numbers?[$0] }
        }
        // A bare number is an event's index. Other items are in the order of the events.
        if case .number = item.value { return item.scalar(in: response.body).flatMap { Int($0) } }
        return place
    }

    private func verdict(_ items: ResponseRule.Items, of item: JSONDocument) -> ResponseRule.Verdict {
        guard let path = items.code else { return items.listed }
        guard let found = path.first(in: item), !found.isNull, let text = found.scalar(in: response.body) else {
            return items.verdicts[.absent] ?? items.listed
        }
        if let exact = items.verdicts[.text(text)] { return exact }
        guard let number = Int(text) else { return items.listed }
        let range = items.verdicts.first { entry in
            if case .range(let range) = entry.key { range.contains(number) } else { false }
        }
        return range?.value ?? items.listed
    }

    // MARK: Outcomes

    /// - Parameter item: the part of the response about this event; nil: the whole response.
    private func outcome(_ verdict: ResponseRule.Verdict, _ rule: ResponseRule, about item: JSONDocument?) -> Outcome {
        let reason = "HTTP \(response.status)"
        switch verdict {
        case .delivered: return .delivered
        case .retry: return .retry(reason: reason, after: wait(rule, item), answer: excerpt(item))
        case .rejected: return .rejected(reason: reason, answer: excerpt(item))
        case .split:
            let answer = excerpt(item)
            return response.status == 413
                ? .tooLarge(reason: reason, answer: answer) : .someRejected(reason: reason, answer: answer)
        case .hold:
            let hint = [401, 403].contains(response.status) ? HTTPResponse.credentialHint : HTTPResponse.settingsHint
            return .hold(reason: reason + hint, answer: excerpt(item))
        }
    }

    /// The outcome of events that the response does not name. Its wait time does not apply to them.
    private func otherOutcome(_ verdict: ResponseRule.Verdict) -> Outcome {
        verdict == .retry
            ? .retry(reason: "HTTP \(response.status)", answer: excerpt(nil))
            : outcome(verdict, ResponseRule(), about: nil)
    }

    private func wait(_ rule: ResponseRule, _ item: JSONDocument?) -> Duration? {
        let said = [item, json].lazy.compactMap { $0 }.compactMap { rule.retryAfter?.first(in: $0) }
            .compactMap { $0.scalar(in: response.body) }.first
        if let said, let wait = RetryAfter.parse(said, wallClock: wallClock) { return wait }
        return response.retryAfter.flatMap { RetryAfter.parse($0, wallClock: wallClock) } ?? rule.wait
    }

    private func excerpt(_ item: JSONDocument?) -> String {
        // A bare number means nothing without the rest of the response.
        guard let item, !item.children.isEmpty else { return response.excerpt(hiding: secrets) }
        return HTTPResponse(status: response.status, body: Array(response.body[item.range])).excerpt(hiding: secrets)
    }
}

extension ResponseRule {
    fileprivate var needsJSON: Bool { !conditions.isEmpty || items != nil || retryAfter != nil }
}

extension JSONDocument {
    fileprivate var isNull: Bool { if case .null = value { true } else { false } }
}

extension Outcome {
    /// Ranks outcomes; the higher, the worse for the event.
    fileprivate var severity: Int {
        switch self {
        case .delivered: 0
        case .retry: 1
        case .hold: 2
        case .tooLarge, .someRejected: 3
        case .rejected: 4
        }
    }
}
