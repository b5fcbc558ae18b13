import Platform
import DaemonConfiguration
import Events
import Foundation
import Journal
import Platform
import Routing
import Testing

@testable import Explanation

/// What another configuration would change for given events.
@Suite struct ComparisonTests {
    private static let orders = (0..<10).map {
        #"{"type":"track","event":"\#($0 % 2 == 0 ? "Order Completed" : "Viewed")","userId":"u\#($0 % 3)","#
            + #""messageId":"m\#($0)","properties":{"total":\#($0),"email":"a@b.c"}}"#
    }
    private static let all = """
        routes: [ { to: [a] } ]
        destinations: { a: { file: /tmp/a.ndjson } }
        """

    private func counts(_ report: ComparisonReport, _ name: String = "a") throws -> ComparisonReport.Counts {
        try #require(try report.destination(name).counts)
    }

    @Test func `equal configurations change nothing, and no event is read`() throws {
        let report = try compare(Self.all, Self.all + "\n# the same", Self.orders)
        #expect(!report.changes && report.events == 0 && report.first == nil)
        #expect(try report.destination("a").state == .same)
        #expect(try report.destination("a").counts == nil)
    }

    @Test func `a narrower route loses the other events`() throws {
        let narrow = Self.all.replacing("{ to: [a] }", with: "{ where: event = \"Viewed\", to: [a] }")
        let report = try compare(Self.all, narrow, Self.orders)
        #expect(report.changes)
        #expect(report.events == 10 && report.first == 0 && report.last == 9)
        #expect(try counts(report) == .init(same: 5, lost: 5))
        let sample = try #require(try report.destination("a").samples.first)
        #expect(sample.verdict == .lost && sample.position == 0 && sample.name == "Order Completed")
        #expect(sample.before == nil && sample.after == "no route selects the event (no_route)")
        #expect(sample.lines.allSatisfy { $0.mark == "-" } && sample.lines.first?.text == "/tmp/a.ndjson")
        #expect(try counts(compare(narrow, Self.all, Self.orders)) == .init(same: 5, added: 5))
    }

    @Test func `a transform changes the fields that it removes`() throws {
        let dropping = Self.all.replacing("{ to: [a] }", with: "{ to: [a], transforms: [drop: [properties.email]] }")
        let report = try compare(Self.all, dropping, Self.orders)
        #expect(try counts(report) == .init(changed: 10))
        let destination = try report.destination("a")
        #expect(destination.fields == [.init(path: "properties.email", added: 0, removed: 10, changed: 0)])
        #expect(destination.samples.count == 1, "one sample for one kind of change")
        let lines = try #require(destination.samples.first).lines.filter { $0.mark != " " }.map { $0.mark + $0.text }
        #expect(lines == [#"-    "total": 0,"#, #"-    "email": "a@b.c""#, #"+    "total": 0"#])
    }

    @Test func `a mapping changes the request, and its order and spelling do not count`() throws {
        func mapped(_ mapping: String) -> String {
            "routes: [ { to: [a] } ]\ndestinations: { a: { http: 'http://h/', mapping: \(mapping) } }"
        }
        let one = mapped("{ name: $.event, total: $.properties.total }")
        let other = mapped("{ total: $.properties.total, name: $.event }")
        let report = try compare(one, other, Self.orders)
        #expect(try counts(report) == .init(same: 10))
        #expect(!report.changes)
        let renamed = try compare(one, mapped("{ title: $.event, total: $.properties.total }"), Self.orders)
        #expect(try counts(renamed) == .init(changed: 10))
        #expect(
            try renamed.destination("a").fields == [
                .init(path: "name", added: 0, removed: 10, changed: 0),
                .init(path: "title", added: 10, removed: 0, changed: 0),
            ])
        let lines = try #require(try renamed.destination("a").samples.first).lines
        #expect(lines.contains { $0.text == "POST http://h/" && $0.mark == " " })
    }

    @Test func `a destination that is added, removed or renamed is reported with its events`() throws {
        let two = """
            routes: [ { to: [a, b] } ]
            destinations: { a: { file: /tmp/a.ndjson }, b: { file: /tmp/b.ndjson, start: earliest } }
            """
        let added = try compare(Self.all, two, Self.orders)
        #expect(try added.destination("b").state == .added)
        #expect(try added.destination("b").start == "earliest")
        #expect(try counts(added, "b") == .init(added: 10))
        #expect(try added.destination("a").state == .same)
        let removed = try compare(two, Self.all, Self.orders)
        #expect(try removed.destination("b").state == .removed)
        #expect(try counts(removed, "b") == .init(lost: 10))
        let renamed = try compare(Self.all, Self.all.replacing("[a]", with: "[c]").replacing("a:", with: "c:"), [])
        #expect(renamed.destinations.map(\.name) == ["c"])
        #expect(try renamed.destination("c").state == .renamed)
        #expect(try renamed.destination("c").renamedFrom == "a")
        #expect(renamed.changes, "a renamed destination gets a new cursor")
        #expect(try counts(renamed, "c").total == 0)
    }

    @Test func `events that become dead letters are counted with their reason`() throws {
        let limited = """
            routes: [ { to: [a] } ]
            destinations: { a: { http: 'http://h/', limits: [ { path: properties.total, max_length: 1 } ] } }
            """
        let open = "routes: [ { to: [a] } ]\ndestinations: { a: { http: 'http://h/' } }"
        let events = Self.orders + [Self.orders[0].replacing("\"total\":0", with: "\"total\":12345")]
        let report = try compare(open, limited, events)
        #expect(try counts(report) == .init(same: 10, deadLetters: 1))
        let sample = try #require(try report.destination("a").samples.first)
        #expect(sample.verdict == .deadLetter && sample.position == 10)
        #expect(
            sample.after?.hasPrefix("to the dead letters: not sent: properties.total") == true, "\(sample.after ?? "")")
        // They are dead letters under both configurations.
        let again = try compare(limited, limited.replacing("http://h/", with: "http://i/"), events)
        #expect(try counts(again) == .init(same: 11))
        #expect(try again.destination("a").target == [.init(key: "http", before: "http://h/", after: "http://i/")])
        #expect(again.changes, "another address gets the events")
        #expect(try report.destination("a").settings == [], "a limit changes events")
        #expect(try counts(compare(limited, open, events)) == .init(same: 10, added: 1))
    }

    @Test func `an event that neither configuration sends is shown as it is`() throws {
        let routed = "routes: [ { where: 'event = \"Other\"', to: [a] } ]\ndestinations: { a: { http: 'http://h/' } }"
        let limited = """
            routes: [ { to: [a] } ]
            destinations: { a: { http: 'http://h/', limits: [ { path: properties.total, max_length: 1 } ] } }
            """
        let event = Self.orders[0].replacing("\"total\":0", with: "\"total\":12345")
        let report = try compare(routed, limited, [event])
        #expect(try counts(report) == .init(deadLetters: 1))
        let sample = try #require(try report.destination("a").samples.first)
        #expect(sample.lines.allSatisfy { $0.mark == " " })
        #expect(sample.lines.contains { $0.text.contains("12345") }, "\(sample.lines)")
        let text = ComparisonText(ANSIStyle(isOn: false)).render(report)
        #expect(text.contains("12345") && !text.contains("too large"), "\(text)")
    }

    @Test func `settings that change no event are named, and change nothing`() throws {
        let batched = Self.all.replacing("a.ndjson }", with: "a.ndjson, batch: { events: 7 }, start: earliest }")
        let report = try compare(Self.all, batched, Self.orders)
        #expect(!report.changes)
        #expect(try report.destination("a").settings == ["start", "batch"])
        let planned = try compare(Self.all, Self.all + "\njournal: { retain: { time: 1d } }", Self.orders)
        #expect(!planned.changes && planned.notCompared == [])
    }

    @Test func `dedupe sees the events in order, with any number of threads`() throws {
        let deduped = Self.all.replacing("{ to: [a] }", with: "{ to: [a], transforms: [dedupe: userId] }")
        let events = (0..<200).map {
            #"{"type":"page","userId":"u\#($0 % 7)","messageId":"m\#($0)"}"#
        }
        for threads in [1, 4] {
            var options = ConfigurationComparison.Options()
            options.threads = threads
            let report = try compare(Self.all, deduped, events, options, piece: 5)
            #expect(try counts(report) == .init(same: 7, lost: 193))
            // The state is rebuilt from the events before the first compared one.
            options.range = DumpRange(from: .time(morning + 100 * 1_000_000_000))
            let later = try compare(Self.all, deduped, events, options, piece: 5)
            #expect(later.events == 100 && later.first == 100)
            #expect(try counts(later) == .init(lost: 100))
        }
    }

    @Test func `the result does not depend on the number of threads`() throws {
        let events = (0..<500).map {
            #"{"type":"track","event":"E\#($0 % 13)","userId":"u","messageId":"m\#($0)","properties":{"p\#($0 % 5)":1}}"#
        }
        let new = Self.all.replacing(
            "{ to: [a] }", with: "{ where: event != \"E3\", to: [a], transforms: [drop: [properties.p1, event]] }")
        var reports: [Data] = []
        for threads in [1, 2, 7] {
            var options = ConfigurationComparison.Options()
            options.threads = threads
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            reports.append(try encoder.encode(try compare(Self.all, new, events, options, piece: threads + 1)))
        }
        #expect(Set(reports).count == 1)
    }

    @Test func `a filter and names select what is compared`() throws {
        let new = """
            routes: [ { where: event = "Viewed", to: [a, b] } ]
            destinations: { a: { file: /tmp/a.ndjson }, b: { file: /tmp/b.ndjson } }
            """
        var options = ConfigurationComparison.Options()
        options.filter = try Filter(parsing: "properties.total < 4")
        options.destinations = ["a"]
        options.samples = 0
        let report = try compare(Self.all, new, Self.orders, options)
        #expect(report.destinations.map(\.name) == ["a"])
        #expect(report.events == 4)
        #expect(try counts(report) == .init(same: 2, lost: 2))
        #expect(try report.destination("a").samples.isEmpty)
    }

    @Test func `the text names each change, and escapes what would control the terminal`() throws {
        let new = """
            routes: [ { where: event != "Viewed", to: [a], transforms: [set: { properties.total: 1 }] } ]
            destinations: { a: { file: /tmp/b.ndjson }, c: { file: /tmp/c.ndjson } }
            """
        let hostile = #"{"type":"track","event":"\u001b[2J","userId":"u","messageId":"m","properties":{"total":5}}"#
        let report = try compare(Self.all, new, Self.orders + [hostile])
        let text = ComparisonText(ANSIStyle(isOn: false)).render(report)
        #expect(
            text.hasPrefix("changes · 11 events, positions 0 to 10, received 2026-01-31T08:00:00.000Z to "), "\(text)")
        #expect(text.contains("\n~ a\n    lost          5  45.5 %\n    changed       6  54.5 %\n"), "\(text)")
        #expect(text.contains("\n      properties.total  changed in 6 events\n"), "\(text)")
        #expect(text.contains("\n    file differs, for every event\n      - /tmp/a.ndjson\n      + /tmp/b.ndjson\n"))
        #expect(text.contains("\n+ c · new destination · start: now, so it gets later events only\n"), "\(text)")
        #expect(text.contains("\n    no event is for this destination\n"))
        #expect(!text.contains("\u{1B}"))
        let coloured = ComparisonText(ANSIStyle(isOn: true)).render(report)
        #expect(coloured.contains("\u{1B}[31m-     \"total\": 0,\u{1B}[0m"), "\(coloured)")
    }
}
