import Events
import Routing

// The keys of a test file, declared in the same way as the configuration's.

extension Section where Target == TestFile {
    static let testFile = Section([
        Field("now", \.now, .moment, "the receive time of events, for all tests of the file"),
        Field("secrets", \.secrets, .standIns, "the test values of secrets, by name"),
        Field("tests", \.tests, .tests, required: true, "the input events and the expected results"),
    ])
}

extension Section where Target == TestDraft {
    static let test = Section([
        Field("name", \.name, .word("text"), "the test's name in reports"),
        Field("now", \.now, .moment, default: "the file's", "the receive time of the events"),
        Field("source", \.source, .named("a source"), default: "the first", "the source that the events come through"),
        Field("from", \.sender, .sender, "the sender of the events: context.penstock"),
        Field("event", \.event, .eventText, "the event, as a client would send it; a text is sent as it is"),
        Field("events", \.events, .list(.eventText, "events"), "several events, in order"),
        Field(
            "refused", \.refused, .word(of: RefusalReason.allCases.map(\.rawValue)),
            "the events are refused, for this reason"),
        Field("expect", \.expectations, .expectations, "what the destinations must get, by name"),
        Field(
            "others", \.others, .word(of: ["nothing", "anything"]), default: "anything",
            "what the destinations must get that are not named in expect"),
    ])
}

extension Section where Target == TestSender {
    static let sender = Section([
        Field("source", \.source, .named("a source"), default: "the first", "the source that the events come through"),
        Field("uid", \.uid, .integer(TestPeer.ids), "the user's number; without it, the sender is not known"),
        Field("gid", \.gid, .integer(TestPeer.ids), default: "the uid", "the group's number"),
        Field("pid", \.pid, .integer(TestPeer.pids), default: "0", "the process's number"),
        Field("user", \.user, .word("a user's name"), default: "none", "the user's name"),
    ])
}

extension Section where Target == ExpectationDraft {
    /// Reasons other than transforms that keep an event from a destination.
    private static let reasons = ["no_route", "integrations", "where", "mapping"]

    static let expectation = Section([
        Field("event", \.event, .jsonText, "the one event that it gets"),
        Field("events", \.events, .list(.jsonText, "events"), "the events that it gets, in order"),
        Field("absent", \.absent, .list(.fieldPath, "paths"), "fields that none of the events has"),
        Field("match", \.match, .choice, "whether further members may be present"),
        Field("request", \.request, .request, "the one request that is sent"),
        Field("requests", \.requests, .list(.request, "requests"), "the requests that are sent, in order"),
        Field("file", \.file, .word("a path"), "the one file that the events are appended to"),
        Field(
            "files", \.files, .list(.word("a path"), "paths"),
            "the files that they are appended to, in the order of each file's first event"),
        Field(
            "dropped_by", \.droppedBy, .word(of: reasons + TransformCatalogue.all.map(\.name)),
            "it gets nothing, for this reason: \(reasons.joined(separator: ", ")) or the name of a transform"),
        Field(
            "rejected", \.rejected, .word("text"),
            "the events become dead letters with a reason that holds this text; together with expected events: some"
                + " of the events do"),
    ])
}

extension Section where Target == ExpectedDelivery.Request {
    static let request = Section([
        Field("method", \.method, .word("a method"), "the HTTP method"),
        Field("url", \.url, .word("a URL"), "the whole URL"),
        Field("headers", \.headers, .expectedHeaders, "headers; a header without a value must be absent"),
        Field("body", \.bodyText, .body, "JSON (for ndjson, a list of its lines), or a text to compare as it is"),
    ])
}

/// A test during reading.
struct TestDraft: Sendable {
    var name: String?
    var now: Int64?
    var source: ConfigurationTest.Named?
    var sender: TestSender?
    var event: String?
    var events: [String]?
    var refused: String?
    var expectations: [ExpectedDelivery] = []
    var others: String?
}

/// The sender of a test's events during reading.
struct TestSender: Sendable {
    var source: ConfigurationTest.Named?
    var uid: Int?
    var gid: Int?
    var pid: Int?
    var user: String?

    var peer: TestPeer? { uid.map { TestPeer(uid: $0, gid: gid, pid: pid, user: user) } }
}

/// The expectations of one destination during reading.
struct ExpectationDraft: Sendable {
    var event: String?
    var events: [String]?
    var absent: [FieldPath] = []
    var match = ExpectedDelivery.Match.subset
    var request: ExpectedDelivery.Request?
    var requests: [ExpectedDelivery.Request]?
    var file: String?
    var files: [String]?
    var droppedBy: String?
    var rejected: String?
}

extension ExpectedDelivery.Request {
    /// A body during reading.
    struct Body: Sendable {
        var text: String
        var isText: Bool
    }

    fileprivate var bodyText: Body? {
        get { body.map { Body(text: $0, isText: bodyIsText) } }
        set { (body, bodyIsText) = (newValue?.text, newValue?.isText ?? false) }
    }
}

// MARK: Values

extension Kind where Value == Int64 {
    static var moment: Kind {
        .text(
            "a time", .text("a time"), hint: "a time is written 2026-01-31T08:00:00Z",
            show: { Timestamp.format($0) }, convert: { Timestamp.parse($0) })
    }
}

extension Kind where Value == [String: String] {
    static var standIns: Kind {
        Kind(.map(of: .text("a text"))) { node, key, diagnostics in
            guard let entries = node.entries else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map, not \(node.found)",
                    hint: "write \(key): { name: text }")
                return nil
            }
            var secrets: [String: String] = [:]
            for entry in entries { secrets[entry.key] = plainText(entry.value, entry.key, "a text", diagnostics) }
            return secrets
        }
    }
}

extension Kind where Value == ConfigurationTest.Named {
    static func named(_ what: String) -> Kind {
        Kind(.text(what)) { node, key, diagnostics in
            plainText(node, key, what, diagnostics).map { .init(name: $0, place: node.place) }
        }
    }
}

extension Kind where Value == FieldPath {
    static var fieldPath: Kind {
        Kind(.text("the path of a field")) { node, key, diagnostics in
            guard let text = plainText(node, key, "the path of a field", diagnostics) else { return nil }
            do throws(FilterError) {
                return try FieldPath(parsing: text)
            } catch {
                diagnostics.error(at: node.place(of: error), error.message, hint: error.hint)
                return nil
            }
        }
    }
}

extension Kind where Value == String {
    /// An event of any kind. YAML becomes JSON, and a text is kept as it is.
    static var eventText: Kind {
        Kind(.anything) { node, key, diagnostics in
            if let scalar = node.scalar, !scalar.isNull, !scalar.isSecret, !scalar.isReported { return scalar.text }
            return jsonText.read(node, key, diagnostics)
        }
    }

    /// YAML as JSON.
    static var jsonText: Kind {
        Kind(.anything) { node, key, diagnostics in
            JSONRendering.render(node, secretsAllowed: false, diagnostics)?.literal
        }
    }
}

extension Kind where Value == ExpectedDelivery.Request.Body {
    static var body: Kind {
        Kind(.anything) { node, key, diagnostics in
            if let scalar = node.scalar, !scalar.isPlain, !scalar.isSecret {
                return .init(text: scalar.text, isText: true)
            }
            return Kind<String>.jsonText.read(node, key, diagnostics).map { .init(text: $0, isText: false) }
        }
    }
}

extension Kind where Value == [(name: String, value: String?)] {
    static var expectedHeaders: Kind {
        Kind(.map(of: .text("a header's value"))) { node, key, diagnostics in
            guard let entries = node.entries else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map, not \(node.found)",
                    hint: "write headers: { Name: value }")
                return nil
            }
            return entries.map { entry in
                (
                    entry.key,
                    entry.value.isNull ? nil : plainText(entry.value, entry.key, "a header's value", diagnostics)
                )
            }
        }
    }
}

extension Kind where Value == ExpectedDelivery.Request {
    static var request: Kind {
        let section = Section<ExpectedDelivery.Request>.request
        return Kind(.section(section.describe(ExpectedDelivery.Request()))) { node, key, diagnostics in
            var request = ExpectedDelivery.Request()
            section.read(node, named: quoted(key), into: &request, diagnostics)
            return request
        }
    }
}

extension Kind where Value == TestSender {
    static var sender: Kind {
        let section = Section<TestSender>.sender
        return Kind(.section(section.describe(TestSender()))) { node, key, diagnostics in
            var sender = TestSender()
            let found = section.read(node, named: quoted(key), into: &sender, diagnostics)
            if found["uid"] == nil, let other = ["gid", "pid", "user"].lazy.compactMap({ found[$0] }).first {
                diagnostics.error(
                    at: other.place, "\(quoted(key)) has no uid, so the sender is not known",
                    hint: "add uid: the user's number")
            }
            return sender
        }
    }
}

extension Kind where Value == [ExpectedDelivery] {
    static var expectations: Kind {
        let section = Section<ExpectationDraft>.expectation
        return Kind(.map(of: .section(section.describe(ExpectationDraft())))) { node, key, diagnostics in
            guard let entries = node.entries else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map of destinations, not \(node.found)",
                    hint: "write the name of a destination, a colon, and what it gets: nothing, or { event: … }")
                return nil
            }
            return entries.compactMap { entry in
                var expected = ExpectedDelivery(.init(name: entry.key, place: entry.place))
                if let scalar = entry.value.scalar {
                    if scalar.text == "nothing" {
                        expected.nothing = true
                    } else {
                        diagnostics.error(
                            at: entry.value.place, "\(quoted(entry.key)) must be nothing, or a map",
                            hint: "write nothing, or { event: { … } }")
                    }
                    return expected
                }
                var draft = ExpectationDraft()
                let found = section.read(
                    entry.value, named: "the expectation for \(quoted(entry.key))", into: &draft, diagnostics)
                for (one, several) in [("event", "events"), ("request", "requests"), ("file", "files")] {
                    if found[one] != nil, let both = found[several] {
                        diagnostics.error(
                            at: both.place, "\(one) and \(several) cannot be combined",
                            hint: "write all of them below \(several)")
                    }
                }
                let other = ["event", "events", "request", "requests", "file", "files", "absent", "rejected"].first {
                    found[$0] != nil
                }
                if let other, let place = found["dropped_by"]?.place {
                    diagnostics.error(
                        at: place, "\(other) and dropped_by cannot be combined",
                        hint: "expect either events or a reason why there are none")
                }
                expected.droppedBy = draft.droppedBy
                expected.rejected = draft.rejected
                expected.events = draft.events ?? draft.event.map { [$0] }
                expected.requests = draft.requests ?? draft.request.map { [$0] }
                expected.absent = draft.absent
                expected.match = draft.match
                expected.files = draft.files ?? draft.file.map { [$0] }
                return expected
            }
        }
    }
}

extension Kind where Value == [ConfigurationTest] {
    static var tests: Kind {
        let section = Section<TestDraft>.test
        return Kind(.list(of: .section(section.describe(TestDraft())))) { node, key, diagnostics in
            guard let items = node.items else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a list, not \(node.found)",
                    hint: "put \"- \" before each test")
                return nil
            }
            if items.isEmpty {
                diagnostics.error(
                    at: node.place, "there is no test in \(quoted(key))",
                    hint: "add - { event: { type: track, … }, expect: … }")
            }
            return items.enumerated().map { number, item in
                var draft = TestDraft()
                let name = (item.entries ?? []).first { $0.key == "name" }?.value.scalar?.text ?? "test \(number + 1)"
                let owner = "test \(quoted(name))"
                let found = section.read(item, named: owner, into: &draft, diagnostics)
                func isEmpty(_ key: String) -> Bool {
                    found[key].map { $0.value.items?.isEmpty ?? $0.value.entries?.isEmpty ?? false } ?? true
                }
                // A test without events would pass with any configuration.
                if found["event"] == nil, isEmpty("events") {
                    diagnostics.error(
                        at: found["events"]?.value.place ?? item.place, "\(owner) has no event",
                        hint: "add event: { type: track, … }")
                }
                if let events = found["events"], found["event"] != nil {
                    diagnostics.error(
                        at: events.place, "event and events cannot be combined", hint: "write all of them below events")
                }
                if isEmpty("expect"), found["refused"] == nil, draft.others == nil || draft.others == "anything" {
                    diagnostics.error(
                        at: found["expect"]?.value.place ?? item.place, "\(owner) expects nothing",
                        hint: "add expect: { DESTINATION: … }, or refused: REASON")
                }
                if let source = found["source"], draft.sender?.source != nil {
                    diagnostics.error(
                        at: source.place, "source is given twice, here and in from", hint: "remove one of the two")
                }
                if let refused = found["refused"], found["expect"] != nil {
                    diagnostics.error(
                        at: refused.place, "refused and expect cannot be combined",
                        hint: "a refused event reaches no destination")
                }
                return ConfigurationTest(
                    name: name, place: item.place, now: draft.now,
                    source: draft.source ?? draft.sender?.source, peer: draft.sender?.peer,
                    events: draft.events ?? draft.event.map { [$0] } ?? [], refused: draft.refused,
                    expectations: draft.expectations, othersGetNothing: draft.others == "nothing")
            }
        }
    }
}
