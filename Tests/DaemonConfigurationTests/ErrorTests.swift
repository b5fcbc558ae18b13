import Testing

@testable import DaemonConfiguration

/// All errors, and that none hides another.
@Suite struct ErrorTests {
    @Test func `an error in one key hides no errors of later stages`() {
        let text = """
            sources:
              apps: { socket: /run/s, max_depth: deep, moed: "0660" }
            journal: { sync: sometimes }
            routes:
              - name: a
                where: event = = "x"
                transforms: [ { set: { "type": x } }, { sett: { a: 1 } } ]
                to: [nowhere]
            destinations:
              f: { file: /d/out, batch: { wait: 5 }, where: "(type" }
              h: { http: ftp://x/, retry: { initial: 10s, max: 1s } }
            """
        let places = load(text).errors.map { "\($0.place.line):\($0.place.column)" }
        #expect(
            places == [
                "2:38", "2:44", "3:18", "6:20", "7:28", "7:45", "8:10", "10:37", "10:50", "11:14", "11:42",
            ])
    }

    @Test(arguments: [
        ("file: /d/out\nhttp: http://h/", "a destination has only one of file, http, plugin"),
        ("batch: { events: 1 }", "destination \"out\" needs one of file, http, plugin"),
        ("file: /d/", "\"/d/\" is a directory"),
        ("file: /d/%Q", "a path cannot have this conversion"),
        ("file: /d/out%", "a path cannot have this conversion"),
        ("file: /d/out\ntimezone: Europe/Atlantis", "\"Europe/Atlantis\" is not a time zone of this machine"),
        ("file: /d/out\ntimezone: ../../etc/passwd", "\"../../etc/passwd\" is not a time zone of this machine"),
        ("file: /d/out\nin_flight: 0", "\"in_flight\" must be from 1 to 1024"),
        ("file: /d/out\nin_flight: 99999999999999999999", "\"99999999999999999999\" is not a whole number"),
        ("file: /d/out\nbatch: { bytes: 1TiB }", "\"bytes\" must be from 1KiB to 64MiB"),
        ("file: /d/out\nbatch: { wait: 99999999999999999d }", "\"wait\" must be from 0s to 1d"),
        ("file: /d/out\nbatch: [1]", "\"batch\" must be a map, not a list"),
        ("file: /d/out\nretry: { initial: 10m }", "retry.initial (10m) is longer than retry.max (5m)"),
        ("file: /d/out\nstart: yesterday", "\"yesterday\" is not now, earliest or a time"),
        ("file: /d/out\nstart: 2026-02-29", "\"2026-02-29\" is not now, earliest or a time"),
        ("preset: mixpanel", "the preset \"mixpanel\" needs \"token\""),
        ("preset: mixpannel", "there is no preset \"mixpannel\""),
        ("preset: mixpanel\ntoken: abc", "\"token\" must be a secret, not a single value"),
        ("file:", "\"file\" has no value"),
        ("file: \"/d/o\\0ut\"", "a control character in \"file\""),
        ("file: !secret x", "\"file\" must be a path, not a secret"),
        ("http: h.example", "\"h.example\" is not a URL of http or https"),
        ("http: \"http://h/a b\"", "a character that a URL cannot have"),
        ("http: http:///path", "\"http:///path\" has no valid host and port"),
        ("http: http://h:99999/", "\"http://h:99999/\" has no valid host and port"),
        ("http: \"http://h/{{ a. }}\"", "expected a field name"),
        ("http: \"http://{{ userId }}/x\"", "neither a secret nor a value of the event can be a part of the host"),
        ("http: \"http://{{ userId }}@h/x\"", "a value of the event cannot be a part of the host"),
        ("http: \"http://{{ secret.host }}/\"", "neither a secret nor a value of the event can be a part of the host"),
        ("http: http://h/\nformat: ndjson\nbody: { a: $events }", "the format ndjson takes no body"),
        ("http: http://h/\nbody: { a: 1 }", "$events is missing, so the events have no place"),
        ("http: http://h/\nbody: { a: $events, b: $events }", "$events occurs a second time"),
        ("http: http://h/\nbody: { a: { $merge: [ { b: $events } ] } }", "$events is not allowed inside a directive"),
        ("http: http://h/\nlimits: [ { path: a, pattern: \"(\" } ]", "this is not a regular expression: missing ): ("),
        (
            "http: http://h/\nrequests: [ { where: type =, http: http://h/ } ]",
            "unexpected end of the filter; expected a field, a value or ("
        ),
        ("http: http://h/\nrequests: [ { url: http://h/ } ]", "unknown key \"url\" in request 1 of \"out\""),
        ("http: \"http://h/{{ secret.x\"", "\"{{\" without \"}}\""),
        ("http: unix:run/s", "\"unix:run/s\" is not a Unix socket's URL"),
        ("http: unix:/run/s:v1", "\"unix:/run/s:v1\" is not a Unix socket's URL"),
        ("http: http://h/\nproxy: ftp://p/", "\"ftp://p/\" is not a proxy's URL"),
        ("http: http://h/\nno_proxy: [\"a,b\"]", "\"a,b\" is not a host, a domain or a network"),
        ("http: http://h/\ntls: { minimum_version: \"1.1\" }", "\"minimum_version\" must be one of 1.2, 1.3"),
        ("http: http://h/\nmax_redirects: 21", "\"max_redirects\" must be from 0 to 20"),
        ("http: http://h/\nmax_answer: 1GiB", "\"max_answer\" must be from 1KiB to 16MiB"),
        ("http: http://h/\nin_flight: { minimum: 4, maximum: 2 }", "the minimum is above the maximum"),
        ("http: http://h/\nin_flight: { minimum: 0 }", "\"minimum\" must be from 1 to 1024"),
        ("file: /d/out\nsync: 2h", "\"sync\" must be always, never, or from 1ms to 1h"),
        ("file: /d/out\ntransforms: [ !drop a ]", "unknown tag \"!drop\""),
        ("file: /d/out\nretry: !wait 5s", "unknown tag \"!wait\""),
        ("http: http://h/\nlimits: [ { required: !really true, max_length: 5 } ]", "unknown tag \"!really\""),
        ("http: http://h/\nin_flight: \"5\"", "\"in_flight\" must be a number; in quotes it is text"),
        ("file: /d/out\nbatch: { events: -5 }", "\"events\" must be from 1 to 100000"),
        ("file: /d/out\nbatch: { events: 0x20000 }", "\"events\" must be from 1 to 100000"),
        (
            "file: /d/out\ntransforms: [ sample: { share: \"0.5\" } ]",
            "\"share\" must be a number; in quotes it is text"
        ),
        ("file: /d/out\nformat: csv\ncolumns: {}", "\"columns\" must be a map of names and values, not an empty map"),
        ("http: http://h/\nrequests: []", "\"requests\" must be a list of requests, not an empty list"),
        (
            "file: /d/out\ntransforms: [ drop: [] ]",
            "\"drop\" must be a list with at least one item, not an empty list"
        ),
        ("http: http://h/\nin_flight: [1, 2]", "\"in_flight\" must be a whole number, not a list"),
        ("file: /d/out\nin_flight: { maximum: 2 }", "only an HTTP destination takes a range here"),
        (
            "http: http://h/\nrate_limit: { events_per_second: 5, per: user }",
            "a rate per user needs order: user"
        ),
        ("http: http://h/\nanswers: { status: 200 }", "\"answers\" must be a list, not a map"),
        ("http: http://h/\nanswers: [ { status: 200 } ]", "this rule does not say what an answer means"),
        ("http: http://h/\nanswers: [ { status: 6xx, then: retry } ]", "\"6xx\" is not an HTTP status"),
        ("http: http://h/\nanswers: [ { status: 500-400, then: retry } ]", "\"500-400\" is not an HTTP status"),
        (
            "http: http://h/\nanswers: [ { then: drop } ]",
            "\"then\" must be one of delivered, retry, rejected, split, hold"
        ),
        ("http: http://h/\nanswers: [ { then: retry, events: { list: a } } ]", "\"then\" beside \"events\""),
        ("http: http://h/\nanswers: [ { events: { index: a } } ]", "\"events\" needs \"list\""),
        ("http: http://h/\nanswers: [ { events: { list: a..b } } ]", "\"a..b\" is not a path"),
        (
            "http: http://h/\nanswers: [ { events: { list: a, code: b, outcomes: { delivered: 409, retry: 409 } } } ]",
            "this code has two outcomes"
        ),
        (
            "http: http://h/\nanswers: [ { events: { list: a, code: b, outcomes: { ok: 409 } } } ]",
            "\"ok\" is not an outcome"
        ),
        (
            "http: http://h/\nanswers: [ { events: { list: a, outcomes: { retry: 409 } } } ]",
            "outcomes without \"code\""
        ),
        (
            "http: http://h/\nrequests: [ { mapping: { a: 1 } }, { where: type = \"page\", mapping: { b: 1 } } ]",
            "no event reaches request 2: request 1 takes every event"
        ),
        (
            "http: http://h/\nrequests: [ { where: type = \"page\", headers: { A: 1, a: 2 } } ]",
            "the header a is set twice"
        ),
        ("http: http://h/\nlimits: [ {} ]", "this limits nothing"),
        ("http: http://h/\nlimits: [ { path: a, required: false } ]", "this limits nothing"),
        ("http: http://h/\nlimits: [ { path: a, mend: true } ]", "this limits nothing"),
        ("http: http://h/\nlimits: [ { path: a, required: true, mend: true } ]", "a missing value cannot be mended"),
        ("http: http://h/\nlimits: [ { max_size: 4KiB, mend: true } ]", "the whole event cannot be removed"),
        (
            "http: http://h/\nlimits: [ { min_length: 5, max_length: 2 } ]",
            "min_length (5) is above max_length (2): no text can have both"
        ),
        ("http: http://h/\nlimits: [ { path: a, max_length: 2, except: [b] } ]", "\"except\" needs * in the path"),
        ("http: http://h/\nlimits: [ { path: a, max_length: 2, unit: seconds } ]", "\"unit\" needs oldest or newest"),
        ("http: http://h/\nrate_limit: { burst: 5 }", "a burst needs events_per_second"),
        (
            "http: http://h/\nrate_limit: { events_per_second: 0 }",
            "\"events_per_second\" must be from 1 to 100000000"
        ),
        ("file: /d/out\ntls: { key: k }", "\"tls\" belongs to an HTTP destination; this is a file destination"),
        ("http: http://h/\nformat: yaml", "\"format\" must be one of ndjson, lines, array, single, text, form, xml"),
        ("http: http://h/\nheaders: { \"a b\": c }", "\"a b\" cannot be the name of a header"),
        ("http: http://h/\nheaders: { Content-Length: 5 }", "Penstock itself sets the header Content-Length"),
        ("http: http://h/\nheaders: { A: 1, a: 2 }", "the header a is set twice"),
        ("http: http://h/\nheaders: { A: \"b\\r\\nC: d\" }", "a control character in a header"),
        ("http: http://h/\nheaders: { A: \"{{ secret.x\" }", "\"{{\" without \"}}\""),
        (
            "http: http://h/\nproxy: \"http://p/{{ userId }}\"",
            "\"userId\" cannot be filled in in a proxy's URL"
        ),
        ("http: http://h/\nheaders: { A: !secret ../x }", "\"../x\" cannot be the name of a secret"),
        ("plugin: ../evil", "\"../evil\" is not the name of a plugin"),
        ("plugin: sqlite\nsettings: 5", "\"settings\" must be a map, not a single value"),
        ("plugin: sqlite\nsettings: { a: .inf }", "\".inf\" has no value in JSON"),
        ("plugin: sqlite\nisolation: thread", "\"isolation\" must be one of process, none"),
    ])
    func `a destination's mistake is one error`(_ lines: String, _ message: String) {
        #expect(load(withDestination(lines)).errors.map(\.message) == [message])
    }

    @Test(arguments: [
        ("mode: \"0999\"", "\"0999\" is not a file mode"),
        ("mode: \"4755\"", "\"4755\" is not a file mode"),
        ("max_connections: 1e3", "\"1e3\" is not a whole number"),
        ("rate_limit: { burst: 5 }", "\"burst\" needs events_per_second"),
        ("rate_limit: { events_per_second: 0 }", "\"events_per_second\" must be from 1 to 100000000"),
        ("allow: { user: [a] }", "unknown key \"user\" in \"allow\""),
        ("allow: { users: www-data }", "\"users\" must be a list of users, not a single value"),
    ])
    func `a source's mistake is one error`(_ lines: String, _ message: String) {
        #expect(load(withSource(lines)).errors.map(\.message) == [message])
    }

    @Test(arguments: [
        ("where: yes", "\"yes\" is text in YAML 1.2, not a filter"),
        ("where:", "\"where\" has no value"),
        ("where: [a]", "\"where\" must be a filter, not a list"),
        ("transforms: { set: { a: 1 } }", "\"transforms\" must be a list of transforms, not a map"),
        ("transforms: [ luau: x ]", "unknown transform \"luau\""),
        ("transforms: [ lua: x ]", "Lua: syntax error near <eof>"),
        ("transforms: [ sett: { a: 1 } ]", "unknown transform \"sett\""),
        ("transforms: [ { where: true } ]", "a transform without a name"),
        (
            "transforms: [ { set: 5 } ]",
            "\"set\" must be a map of paths of fields, each with a value, not a single value"
        ),
        ("transforms: [ { set: { a: !secret x } } ]", "a secret is not allowed here"),
    ])
    func `a route's mistake is one error`(_ lines: String, _ message: String) {
        #expect(load(withRoute(lines)).errors.map(\.message) == [message])
    }

    @Test(arguments: [
        ("5", "a configuration is a map of sections, not a single value"),
        ("- a", "a configuration is a map of sections, not a list"),
        ("sources: [a]", "\"sources\" must be a map of names, not a list"),
        ("sources: { \"a.b\": { socket: /s } }", "\"a.b\" cannot be the name of a source"),
        ("sources: { a: { socket: /s }, b: { socket: //s } }", "source \"a\" has the same socket"),
        ("sources: { a: { socket: /run/penstock/control.sock } }", "the control socket has the same socket"),
        ("routes: { to: [a] }", "\"routes\" must be a list, not a map"),
        ("routes: [ {} ]", "route 1 needs \"to\""),
        ("routes: [ { name: x, to: [] } ]", "a route must name a destination"),
        ("plan: x", "\"/etc/penstock/x\" cannot be read: no such file or directory"),
        ("routing: { threads: 1 }", "\"threads\" must be from 2 to 64"),
        ("routing: { threads: 65 }", "\"threads\" must be from 2 to 64"),
        ("routing: { threads: 9223372036854775807 }", "\"threads\" must be from 2 to 64"),
        ("journal: { retain: { size: 1 } }", "\"size\" must be from 16MiB to 1PiB"),
        ("[a]: b", "a key must be plain text"),
        ("a: *b", "not YAML: found undefined alias"),
    ])
    func `a mistake in the whole configuration is one error`(_ text: String, _ message: String) {
        #expect(load(text).errors.map(\.message) == [message])
    }

    @Test func `two routes of one name and a destination named twice in one route are errors`() {
        let text = """
            sources: { apps: { socket: /run/s } }
            routes: [ { name: a, to: [out, out] }, { name: a, to: [out] } ]
            destinations: { out: { file: /d/out } }
            """
        #expect(messages(text) == ["this route names \"out\" twice", "another route has the name \"a\""])
    }

    @Test func `a socket's path is limited to 107 bytes`() {
        let path = "/" + String(repeating: "s", count: 107)
        #expect(
            messages("sources: { a: { socket: \(path) } }") == [
                "the path of a socket has at most 107 bytes, this one has 108"
            ])
        #expect(load("sources: { a: { socket: \(path.dropLast()) } }").errors.isEmpty)
    }

    @Test func `a header is limited to 8 KiB`() {
        let value = String(repeating: "{{ secret.x }}", count: 600)
        #expect(
            messages(withDestination("http: http://h/\nheaders: { A: \"\(value)\" }")) == ["a header of more than 8KiB"]
        )
    }

    @Test(arguments: [
        ("{ segment_size: 1048577 }", ["1:26: journal.segment_size (1048577) is not a multiple of 4KiB"]),
        (
            "{ segment_size: 1GiB, retain: { size: 2GiB } }",
            ["1:48: journal.retain.size (2GiB) is below three segments of 1GiB"]
        ),
        ("{ segment_size: 7GB, retain: { size: 16MiB } }", ["1:26: \"7GB\" is not a size"]),
        ("{ queue: 255KiB }", ["1:19: \"queue\" must be from 256KiB to 1GiB"]),
        ("{ memory: 1023KiB }", ["1:20: \"memory\" must be from 1MiB to 8GiB"]),
        ("{ queue: 5MiB }", ["1:19: journal.memory (16MiB) is below four times journal.queue (5MiB)"]),
        ("{ memory: 7GB, queue: 8MiB }", ["1:20: \"7GB\" is not a size"]),
        ("{ memory: 1MiB }", []),
        ("{ reader_wait: 101ms }", ["1:25: \"reader_wait\" must be from 0s to 100ms"]),
        ("{ reader_wait: 100ms }", []),
        ("{ commit_delay: 10001us }", ["1:26: \"commit_delay\" must be from 0s to 10ms"]),
        ("{ commit_delay: 10000us }", []),
        ("{ commit_delay: 0 }", []),
        ("{ cursor_interval: 9999us }", ["1:29: \"cursor_interval\" must be from 10ms to 1d"]),
    ])
    func `an unusable journal setting is reported at its place`(_ journal: String, _ expected: [String]) {
        let found = load("journal: \(journal)\n" + withSource("mode: \"0600\"")).diagnostics
        #expect(found.map { "\($0.place.line):\($0.place.column): \($0.message)" } == expected)
    }

    @Test func `an event that cannot fit into the journal is an error`() {
        let text = "journal: { queue: 256KiB, segment_size: 1MiB }\n" + withSource("max_event_size: 2MiB")
        #expect(
            messages(text) == [
                "an event of 2MiB does not fit into journal.queue, which is 256KiB",
                "an event of 2MiB does not fit into journal.segment_size, which is 1MiB",
            ])
    }

    @Test(arguments: [
        "where: \"a \\e[31m\"", "to: \"\\e[31m\"", "name: \"\\e[31m\"", "transforms: \"\\e\"", "\"\\e\": 1",
    ])
    func `an escape sequence in the configuration does not reach the terminal`(_ lines: String) {
        let all = shown(withRoute(lines))
        #expect(all.contains("error: "))
        #expect(!all.contains("\u{1B}"))
    }

    @Test func `a repeated key is an error in every map, quoted or not, each time it is repeated`() {
        let text = """
            sources: { a: { socket: /s, mode: "0600", socket: /t }, b: { socket: /u }, "b": { socket: /v } }
            control: { socket: /c }
            x: 1
            control: { socket: /d }
            control: { socket: /e }
            """
        let errors = load(text).errors
        #expect(
            errors.map(\.message).filter { $0.hasSuffix("is set twice") } == [
                "\"socket\" is set twice", "\"b\" is set twice", "\"control\" is set twice", "\"control\" is set twice",
            ])
        #expect(errors.contains { $0.message == "unknown key \"x\" in the configuration" })
        #expect(errors.compactMap(\.note).map(\.place.line) == [1, 1, 2, 2])
    }

    @Test(arguments: [
        ("max_connections: 1e3", "write max_connections: 1000"),
        ("max_connections: 1_000", "write max_connections: 1000"),
        ("max_connections: 1,000", "write max_connections: 1000"), ("max_connections: +5", "write max_connections: 5"),
        ("max_connections: 500.0", "write max_connections: 500"),
        ("max_connections: 10k", "a whole number is written 1000, without a unit"),
        ("max_connections: 1.5", "a whole number is written 1000, without a unit"),
        ("max_connections: 99999999999999999999", "a whole number is written 1000, without a unit"),
        ("max_event_size: 32KB", Quantity.sizeHint),
    ])
    func `a malformed number's hint shows the number to write`(_ line: String, _ hint: String) {
        let errors = load(withSource(line)).errors
        // YAML itself accepts +5.
        #expect(errors.map(\.hint) == (line.hasSuffix("+5") ? [] : [hint]))
    }

    @Test(arguments: [
        ("1_0", "write share: 10"), ("0,5", "write share: 0.5"), ("ten", "a number is written 0.5, or 50%"),
    ])
    func `a malformed share's hint shows the number to write`(_ share: String, _ hint: String) {
        let errors = load(withRoute("transforms: [ { sample: { share: \"\(share)\", by: userId } } ]")).errors
        #expect(errors.map(\.hint) == [hint])
    }

    @Test func `an unknown user or group is a warning`() {
        let accounts = KnownAccounts(hasUser: { $0 == "root" }, hasGroup: { $0 == "root" })
        let text = withSource("group: roto\nallow: { users: [root, nobdoy], groups: [root] }")
        let result = ConfigurationLoader(accounts: accounts).load(text: text, named: "p.yaml")
        #expect(result.configuration != nil)
        #expect(
            result.warnings.map(\.message) == [
                "this machine has no group \"roto\"", "this machine has no user \"nobdoy\"",
            ])
    }

    @Test func `a password in a URL is a warning`() {
        let result = load(withDestination("http: http://user:pass@h/"))
        #expect(result.configuration != nil)
        #expect(result.warnings.map(\.message) == ["a password in a URL is shown in logs and status"])
    }
}
