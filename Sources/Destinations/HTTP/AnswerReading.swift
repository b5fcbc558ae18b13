import Delivery
import Events

/// One answer, read by a destination's rules: what became of each event of the request. Pure.
struct AnswerReading {
    let answer: HTTPAnswer
    /// The answer was longer than was read of it.
    let wasCut: Bool
    let wallClock: Int64
    let secrets: [[UInt8]]
    /// How many events the request had.
    let count: Int
    /// Their message ids, as text; asked for only where a rule needs them.
    let messageIDs: () -> [String]

    private let json: AnswerJSON?

    init(
        _ answer: HTTPAnswer, wasCut: Bool, wallClock: Int64, hiding secrets: [[UInt8]], count: Int, rules: [AnswerRule],
        messageIDs: @escaping () -> [String]
    ) {
        self.answer = answer
        self.wasCut = wasCut
        self.wallClock = wallClock
        self.secrets = secrets
        self.count = count
        self.messageIDs = messageIDs
        json = rules.contains(where: \.needsJSON) ? AnswerJSON(answer.body) : nil
    }

    func settlement(by rules: [AnswerRule]) -> DeliveryClaim.Settlement {
        // An answer that should say more and does not, or whose end is missing, leaves it open what became
        // of the events: a good status is then no good word.
        var isOpen = false
        for rule in rules where rule.statuses.isEmpty || rule.statuses.contains(where: { $0.contains(answer.status) }) {
            guard meets(rule) else {
                isOpen = isOpen || wasCut
                continue
            }
            guard let items = rule.items else { return .all(outcome(rule.verdict, rule, about: json)) }
            if wasCut {
                return .all(.retry(reason: "HTTP \(answer.status): the answer breaks off, or is longer than max_answer"))
            }
            if let json, let each = outcomes(items, rule, in: json) { return .each(each) }
            isOpen = true
        }
        if isOpen, (200...299).contains(answer.status) {
            return .all(
                .retry(reason: "HTTP \(answer.status), which does not say what became of the events", answer: excerpt(nil)))
        }
        return .all(answer.outcome(wallClock: wallClock, hiding: secrets))
    }

    // MARK: Whether a rule is met

    /// Apart from the status.
    private func meets(_ rule: AnswerRule) -> Bool {
        if !rule.words.isEmpty, !rule.words.contains(where: { Self.holds(answer.body, Array($0.utf8)) }) { return false }
        guard !rule.conditions.isEmpty else { return true }
        guard let json else { return false }
        return rule.conditions.allSatisfy { condition in
            let found = condition.path.values(in: json)
            guard let value = condition.value else { return found.allSatisfy(\.isNull) }
            return found.contains { $0.scalar(in: answer.body) == value }
        }
    }

    /// Whether `word` stands in `text`, and not only as a part of a longer word or number.
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

    /// nil: none of the lists is there.
    private func outcomes(_ items: AnswerRule.Items, _ rule: AnswerRule, in json: AnswerJSON) -> [Outcome]? {
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
            // Named twice: the worse counts.
            if outcomes[number].map({ outcome.severity > $0.severity }) ?? true { outcomes[number] = outcome }
        }
        // An event that is not one of ours was refused: it may have been any.
        let others =
            strangers
            ? Outcome.retry(reason: "HTTP \(answer.status) names events that were not sent", answer: excerpt(nil))
            : otherOutcome(items.others)
        return outcomes.map { $0 ?? others }
    }

    private func number(
        _ items: AnswerRule.Items, of item: AnswerJSON, at place: Int, _ numbers: inout [String: Int]?
    ) -> Int? {
        if let path = items.index { return path.first(in: item).flatMap { $0.scalar(in: answer.body) }.flatMap { Int($0) } }
        if let path = items.id {
            if numbers == nil {
                numbers = Dictionary(messageIDs().enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
            }
            return path.first(in: item).flatMap { $0.scalar(in: answer.body) }.flatMap { numbers?[$0] }
        }
        // A bare number is the event's own; what is more is in the events' order.
        if case .number = item.value { return item.scalar(in: answer.body).flatMap { Int($0) } }
        return place
    }

    private func verdict(_ items: AnswerRule.Items, of item: AnswerJSON) -> AnswerRule.Verdict {
        guard let path = items.code else { return items.listed }
        guard let found = path.first(in: item), !found.isNull, let text = found.scalar(in: answer.body) else {
            return items.verdicts[.absent] ?? items.listed
        }
        if let exact = items.verdicts[.text(text)] { return exact }
        guard let number = Int(text) else { return items.listed }
        let range = items.verdicts.first { entry in if case .range(let range) = entry.key { range.contains(number) } else { false } }
        return range?.value ?? items.listed
    }

    // MARK: Outcomes

    /// - Parameter item: what speaks of this event; nil: the whole answer.
    private func outcome(_ verdict: AnswerRule.Verdict, _ rule: AnswerRule, about item: AnswerJSON?) -> Outcome {
        let reason = "HTTP \(answer.status)"
        switch verdict {
        case .delivered: return .delivered
        case .retry: return .retry(reason: reason, after: wait(rule, item), answer: excerpt(item))
        case .rejected: return .rejected(reason: reason, answer: excerpt(item))
        case .split: return .tooLarge(reason: reason, answer: excerpt(item))
        case .hold: return .hold(reason: reason + HTTPAnswer.credentialHint, answer: excerpt(item))
        }
    }

    /// Of events that the answer does not name: what it says about waiting is not meant for them.
    private func otherOutcome(_ verdict: AnswerRule.Verdict) -> Outcome {
        verdict == .retry
            ? .retry(reason: "HTTP \(answer.status)", answer: excerpt(nil)) : outcome(verdict, AnswerRule(), about: nil)
    }

    private func wait(_ rule: AnswerRule, _ item: AnswerJSON?) -> Duration? {
        let said = [item, json].lazy.compactMap { $0 }.compactMap { rule.retryAfter?.first(in: $0) }
            .compactMap { $0.scalar(in: answer.body) }.first
        if let said, let wait = RetryAfter.parse(said, wallClock: wallClock) { return wait }
        return answer.retryAfter.flatMap { RetryAfter.parse($0, wallClock: wallClock) } ?? rule.wait
    }

    private func excerpt(_ item: AnswerJSON?) -> String {
        // A bare number says nothing without the rest.
        guard let item, !item.children.isEmpty else { return answer.excerpt(hiding: secrets) }
        return HTTPAnswer(status: answer.status, body: Array(answer.body[item.range])).excerpt(hiding: secrets)
    }
}

extension AnswerRule {
    fileprivate var needsJSON: Bool { !conditions.isEmpty || items != nil || retryAfter != nil }
}

extension AnswerJSON {
    fileprivate var isNull: Bool { if case .null = value { true } else { false } }
}

extension Outcome {
    /// How much stands against the event.
    fileprivate var severity: Int {
        switch self {
        case .delivered: 0
        case .retry: 1
        case .hold: 2
        case .tooLarge: 3
        case .rejected: 4
        }
    }
}
