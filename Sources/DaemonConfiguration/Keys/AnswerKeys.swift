import NameSuggestion
import Routing

/// `destinations.NAME.answers[]`
extension Section where Target == Configuration.Answer {
    static let answer = Section([
        Field("status", \.statuses, .statuses, "the HTTP status codes: 429, 4xx, 500-504, or a list of these"),
        Field("contains", \.words, .texts, "one or more texts; the answer must contain at least one of them"),
        Field("json", \.conditions, .conditions, "paths in the answer's JSON, and the values that they must have"),
        Field(
            "then", \.verdict, .choice, default: "by events",
            "the outcome: delivered, retry, rejected (the events become dead letters), split (the batch is sent again"
                + " in halves until the invalid event is found) or hold (the events are kept, and the destination is"
                + " held)"
        ),
        Field("events", \.items, .items, default: "none", "where the answer reports the result of each event"),
        Field(
            "retry_after", \.retryAfter, .answerPath, default: "the header Retry-After",
            "the path, in the answer or in an item, of the number of seconds to wait"),
        Field(
            "wait", \.wait, .duration(.milliseconds(1)...days(1)), default: "retry.initial",
            "how long to wait if the answer has no such number"),
    ])
}

extension Section where Target == Configuration.Answer.Items {
    static let answerItems = Section([
        Field(
            "list", \.lists, .answerPaths, required: true,
            "the path, or paths, of lists of items; * stands for every name"),
        Field(
            "index", \.index, .answerPath, default: "the item, or its place",
            "the path, in an item, of the event's number, from 0"),
        Field("id", \.id, .answerPath, default: "none", "the path, in an item, of the event's message id"),
        Field(
            "code", \.code, .answerPath, default: "none",
            "the path, in an item, of the event's result code, a word or a number"),
        Field(
            "outcomes", \.verdicts, .verdicts,
            "the outcome of each code: { delivered: [2xx, 409], retry: 429, rejected: 4xx }"),
        Field("then", \.listed, .choice, "the outcome for an item whose code is not in outcomes"),
        Field("others", \.others, .choice, "the outcome for events without an item"),
    ])
}

extension Kind where Value == [Configuration.Answer] {
    static var answers: Kind {
        let section = Section<Configuration.Answer>.answer
        return Kind(.list(of: .section(section.describe(Configuration.Answer())))) { node, key, diagnostics in
            guard let items = node.items else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a list, not \(node.found)",
                    hint: "put \"- \" before each rule")
                return nil
            }
            return items.enumerated().map { number, item in
                var answer = Configuration.Answer()
                let found = section.read(
                    item, named: "rule \(number + 1) of \(quoted(key))", into: &answer, diagnostics)
                if found["then"] == nil, found["events"] == nil, item.entries != nil {
                    diagnostics.error(
                        at: item.place, "this rule does not say what an answer means",
                        hint: "add then: delivered, retry, rejected, split or hold; or events: { list: … }")
                }
                if let then = found["then"], found["events"] != nil {
                    diagnostics.error(
                        at: then.place, "\"then\" beside \"events\"",
                        hint: "put it into events, or remove one of the two")
                }
                return answer
            }
        }
    }
}

extension Kind where Value == Configuration.Answer.Items {
    static var items: Kind {
        let section = Section<Configuration.Answer.Items>.answerItems
        return Kind(.section(section.describe(Configuration.Answer.Items()))) { node, key, diagnostics in
            var items = Configuration.Answer.Items()
            let found = section.read(node, named: quoted(key), into: &items, diagnostics)
            if let id = found["id"], found["index"] != nil {
                diagnostics.error(
                    at: id.place, "\"id\" beside \"index\"", hint: "use one of them to identify an item's event")
            }
            if let outcomes = found["outcomes"], found["code"] == nil {
                diagnostics.error(at: outcomes.place, "outcomes without \"code\"", hint: "add code: PATH")
            }
            return items
        }
    }
}

extension Kind where Value == [ClosedRange<Int>] {
    static var statuses: Kind {
        .oneOrMore(
            .text(
                "an HTTP status", .text("an HTTP status"), hint: "write 429, 4xx or 500-504",
                convert: { text in
                    statusRange(text).flatMap { (100...599).contains($0.lowerBound) && $0.upperBound < 600 ? $0 : nil }
                }), "HTTP statuses")
    }
}

/// Parses `404`, `4xx` and `500-504`.
private func statusRange(_ text: String) -> ClosedRange<Int>? {
    if let number = Quantity.integer(text) { return number...number }
    if text.count == 3, text.hasSuffix("xx"), let first = Quantity.integer(String(text.prefix(1))) {
        return first * 100...first * 100 + 99
    }
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Quantity.integer(String($0)) }
    guard ends.count == 2, let low = ends[0], let high = ends[1], low <= high else { return nil }
    return low...high
}

extension Kind where Value == [String] {
    static var texts: Kind { .oneOrMore(.word("text"), "texts") }
    static var answerPaths: Kind { .oneOrMore(.answerPath, "paths") }
}

extension Kind where Value == String {
    static var answerPath: Kind {
        .text(
            "a path", .text("a path in the answer's JSON"),
            hint: "names with dots between them: error.code, items.0, errors.*",
            show: { $0 },
            convert: { text in text.split(separator: ".", omittingEmptySubsequences: false).contains("") ? nil : text })
    }
}

extension Kind where Value == [Configuration.Answer.Condition] {
    static var conditions: Kind {
        Kind(.map(of: .text("a value"))) { node, key, diagnostics in
            guard let entries = node.entries else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map, not \(node.found)",
                    hint: "write json: { success: false }")
                return nil
            }
            return entries.compactMap { entry in
                guard let scalar = entry.value.scalar, !scalar.isSecret, !scalar.isReported else {
                    diagnostics.error(
                        at: entry.place, "expected a text, a number, true, false or null, found \(entry.value.found)")
                    return nil
                }
                return .init(path: entry.key, value: scalar.isNull ? nil : scalar.text)
            }
        }
    }
}

extension Kind where Value == [Configuration.Answer.Code: Configuration.Answer.Verdict] {
    static var verdicts: Kind {
        let codes = Kind<[String]>.oneOrMore(.word("a code"), "codes")
        let names = Configuration.Answer.Verdict.allCases.map(\.rawValue)
        return Kind(.map(of: codes.type)) { node, key, diagnostics in
            guard let entries = node.entries else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map, not \(node.found)",
                    hint: "write outcomes: { retry: [429, 5xx], rejected: 4xx }")
                return nil
            }
            var verdicts: Value = [:]
            for entry in entries {
                guard let verdict = Configuration.Answer.Verdict(rawValue: entry.key) else {
                    diagnostics.error(
                        at: entry.place, "\(quoted(entry.key)) is not an outcome",
                        hint: NearestName.find(entry.key, among: names).map { "did you mean \(quoted($0))?" }
                            ?? "the outcomes are \(names.joined(separator: ", "))")
                    continue
                }
                for code in codes.read(entry.value, entry.key, diagnostics) ?? [] {
                    let code = Configuration.Answer.Code(code)
                    if verdicts.updateValue(verdict, forKey: code) != nil {
                        diagnostics.error(
                            at: entry.value.place, "this code has two outcomes", hint: "remove one of the two")
                    }
                }
            }
            return verdicts
        }
    }
}

extension Configuration.Answer.Code {
    /// `none` means that there is no code, `4xx` and `400-403` are ranges of numbers, and any other text is compared as
    /// it is.
    init(_ text: String) {
        if text == "none" {
            self = .absent
        } else if let range = statusRange(text), range.lowerBound < range.upperBound {
            self = .range(range)
        } else {
            self = .text(text)
        }
    }
}

extension Kind {
    /// A value, or a list of values.
    fileprivate static func oneOrMore<Item: Sendable>(_ item: Kind<Item>, _ what: String) -> Kind
    where Value == [Item] {
        let list = Kind.list(item, what)
        return Kind(.either([item.type, list.type])) { node, key, diagnostics in
            if case .scalar = node.content { return item.read(node, key, diagnostics).map { [$0] } }
            return list.read(node, key, diagnostics)
        }
    }
}
