import Foundation
import Routing
import Testing

@testable import DaemonConfiguration

/// The values of a valid configuration.
@Suite struct ValueTests {
    private func value(_ text: String) throws -> Configuration {
        let result = load(text)
        return try #require(result.configuration, "\(result.diagnostics)")
    }

    @Test func `every key of this version is loaded into its property`() throws {
        let configuration = try value(
            """
            sources:
              apps:
                socket: /run/penstock/events.sock
                mode: "0666"
                group: penstock
                allow: { users: [www-data], groups: [staff, adm] }
                max_event_size: 64KiB
                max_depth: 10
                max_connections: 5
                max_unread_answers: 8192
                max_connections_per_uid: 7
                max_consecutive_refusals: 9
                max_buffered: 1MiB
                line_timeout: 5s
                idle_timeout: 2h
                ids: lenient
                invalid_text: replace
            journal:
              directory: state
              sync: 200ms
              retain: { time: 24h, size: 1GiB }
              when_full: drop_oldest
              segment_size: 1MiB
              memory: 3MiB
              queue: 256KiB
              commit_delay: 1500us
              reader_wait: 0s
              cursor_interval: 5s
            routing: { threads: 3 }
            routes:
              - name: all
                where: type = "track"
                transforms: [ { set: { routed: w1 } } ]
                to: [f, h, p]
            destinations:
              f:
                file: out/%Y-%m-%d.ndjson.zst
                rotate: { size: 256MiB, every: 1h }
                timezone: UTC
                start: earliest
                batch: { events: 7, bytes: 4KiB, wait: 3s }
                in_flight: 2
                retry: { initial: 1s, max: 2s, give_up_after: 3h }
                where: event != "Heartbeat"
                dead_letters: { size: 1MiB, time: 7d, when_full: drop_oldest }
                replay: { in_flight: 1, events_per_second: 500 }
              h:
                http: https://collector.example/v1/events
                method: PUT
                format: ndjson
                headers: { X-One: "1", X-Two: two }
                compression: gzip
                timeout: 7s
                connect_timeout: 300ms
                start: 2026-01-31T08:00:00Z
              p:
                plugin: sqlite
                isolation: none
                settings: { file: "a.db", n: [1, 2.50, 0x10, 1e3, true, ~, yes, "5"], o: { k: "é\\"" } }
                deadline: 9s
            control: { socket: ctl.sock }
            plugins: { directories: [plugins, /opt/p] }
            """)
        #expect(
            configuration.sources == [
                .init(
                    name: "apps", socket: "/run/penstock/events.sock", mode: 0o666, group: "penstock",
                    allow: .init(users: ["www-data"], groups: ["staff", "adm"]), maximumEventSize: 65_536,
                    maximumDepth: 10,
                    maximumConnections: 5, maximumUnreadAnswers: 8_192, maximumConnectionsPerUser: 7,
                    maximumConsecutiveRefusals: 9, maximumBuffered: 1 << 20, lineTimeout: .seconds(5),
                    idleTimeout: .seconds(7_200), ids: .lenient, invalidText: .replace)
            ])
        #expect(
            configuration.journal
                == .init(
                    directory: "/etc/penstock/state", sync: .interval(.milliseconds(200)), retainTime: .seconds(86_400),
                    retainSize: 1 << 30, whenFull: .drop_oldest, segmentSize: 1 << 20, memory: 3 << 20,
                    givenQueue: 256 << 10, commitDelay: .microseconds(1500), readerWait: .zero,
                    cursorInterval: .seconds(5)))
        let route = try #require(configuration.routes.first)
        #expect(route.name == "all" && route.to == ["f", "h", "p"] && route.transforms.count == 1)
        #expect(route.rules.steps.map(\.text) == [#"{"set":{"routed":"w1"}}"#])
        let (f, h, p) = (configuration.destinations[0], configuration.destinations[1], configuration.destinations[2])
        #expect(
            f.kind
                == .file(
                    .init(
                        path: .init(
                            text: "/etc/penstock/out/%Y-%m-%d.ndjson.zst",
                            pieces: [.text("/etc/penstock/out/%Y-%m-%d.ndjson.zst")]),
                        compression: .zstd, rotateSize: 256 << 20,
                        rotateEvery: .seconds(3_600), timezone: "UTC")))
        #expect(
            f.start == .earliest && f.inFlight == 2...2
                && f.deadLetters == .init(size: 1 << 20, time: .seconds(7 * 86_400), whenFull: .drop_oldest))
        #expect(f.replay == .init(inFlight: 1, eventsPerSecond: 500))
        #expect(f.batch == .init(events: 7, bytes: 4_096, wait: .seconds(3)))
        #expect(f.retry == .init(initial: .seconds(1), max: .seconds(2), giveUpAfter: .seconds(10_800)))
        #expect(f.rules.condition.text == "event != \"Heartbeat\"")
        guard case .http(let http) = h.kind, case .plugin(let plugin) = p.kind else {
            Issue.record("unexpected kinds of destinations")
            return
        }
        #expect(http.url == "https://collector.example/v1/events" && http.method == .PUT && http.format == .ndjson)
        #expect(http.headers.map(\.name) == ["X-One", "X-Two"] && http.headers.map(\.value) == ["1", "two"])
        #expect(http.compression == .gzip && http.timeout == .seconds(7) && http.connectTimeout == .milliseconds(300))
        #expect(h.start == .time(1_769_846_400_000_000_000))
        #expect(plugin.plugin == "sqlite" && plugin.deadline == .seconds(9) && plugin.isolation == .none)
        #expect(plugin.settings == #"{"file":"a.db","n":[1,2.50,16,1e3,true,null,"yes","5"],"o":{"k":"é\""}}"#)
        #expect(configuration.routing.threads == 3)
        #expect(configuration.control.socket == "/etc/penstock/ctl.sock")
        #expect(configuration.plugins.directories == ["/etc/penstock/plugins", "/opt/p"])
    }

    @Test func `an omitted key has its documented default`() throws {
        let configuration = try value(
            """
            sources: { apps: { socket: /run/s } }
            routes: [ { to: [f, z, h, p] }, { where: true, to: [f] } ]
            destinations:
              f: { file: /d/out }
              z: { file: /d/out.gz }
              h: { http: http://h }
              p: { plugin: console }
            """)
        #expect(configuration.journal == .init())
        #expect(
            configuration.journal.retainTime == .seconds(7 * 86_400) && configuration.journal.retainSize == 20 << 30)
        #expect(configuration.control.socket == "/run/penstock/control.sock")
        #expect(configuration.plugins.directories == ["/usr/lib/penstock/plugins"])
        #expect(configuration.sources == [.init(name: "apps", socket: "/run/s")])
        #expect(configuration.routes.map(\.name) == ["route 1", "route 2"])
        let batches = configuration.destinations.map {
            "\($0.batch.events) \($0.batch.bytes) \($0.batch.wait) \($0.inFlight.lowerBound) \($0.inFlight.upperBound)"
        }
        #expect(
            batches == [
                "10000 1048576 0.0 seconds 1 1", "10000 1048576 1.0 seconds 1 1", "500 1048576 1.0 seconds 4 4",
                "512 1048576 0.2 seconds 1 1",
            ])
        #expect(
            configuration.destinations.allSatisfy {
                $0.start == .now && $0.retry == .init() && $0.deadLetters == .init()
            })
        guard case .plugin(let plugin) = configuration.destinations[3].kind else { return }
        #expect(plugin.settings == "{}")
        #expect(plugin.isolation == .process)
    }

    @Test(arguments: ["W1", "W2", "W3"])
    func `the yardstick's flow style is loaded`(_ name: String) throws {
        let destinations = [
            "W1": "out: { file: /d/out.json }", "W2": "out: { file: /d/a.json }",
            "W3":
                "out:\n    http: http://127.0.0.1:8080/b\n    format: ndjson\n    batch: { events: 1000, bytes: 1MiB, wait: 200ms }\n    retry: { initial: 500ms, max: 2s }",
        ]
        let text = """
            sources: { apps: { socket: /d/s.sock } }
            control: { socket: /d/control.sock }
            journal: { directory: /d/state, sync: always, retain: { size: 64GiB } }
            routes:
              - where: 'type = "track" and event in ["A", "B C"]'
                transforms: [ { set: { routed: w1 } } ]
                to: [out]
              - where: 'type = "page" or event = "Order Completed"'
                to: [out]
            destinations:
              \(destinations[name] ?? "")
            """
        let result = load(text)
        #expect(result.diagnostics.isEmpty)
        #expect(result.configuration?.journal.retainSize == 64 << 30)
    }

    @Test func `the shipped configuration is valid and has no warnings`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("etc/penstock/penstock.yaml").path
        let result = ConfigurationLoader(credentialsDirectory: nil).load(file: file)
        #expect(result.diagnostics.isEmpty)
        #expect(result.configuration?.sources.map(\.name) == ["apps"])
        #expect(result.configuration?.control.socket == "/run/penstock/control.sock")
    }

    @Test(arguments: [
        ("200ms", Duration.milliseconds(200)), ("5s", .seconds(5)), ("10m", .seconds(600)), ("24h", .seconds(86_400)),
        ("7d", .seconds(604_800)), ("50us", .microseconds(50)), ("0", .zero), ("0s", .zero), ("5", nil), ("5 s", nil),
        ("-5s", nil), ("1.5s", nil),
        ("s", nil), ("", nil), ("us", nil), ("9223372036854775807us", nil), ("5Us", nil),
        ("9223372036854775807d", nil), ("٥s", nil), ("5S", nil),
    ])
    func `a duration has a unit and fits into 64 bits`(_ text: String, _ duration: Duration?) {
        #expect(Quantity.duration(text) == duration)
    }

    @Test(
        arguments: [
            ("0", 0), ("4096", 4_096), ("1B", 1), ("32KiB", 32_768), ("1MiB", 1 << 20), ("20GiB", 20 << 30),
            ("2TiB", 2 << 40),
            ("32KB", nil), ("32K", nil), ("1.5MiB", nil), ("-1", nil), ("+1", nil), ("", nil), ("9999999999TiB", nil),
        ] as [(String, Int?)])
    func `a size has a binary unit and fits into 64 bits`(_ text: String, _ size: Int?) {
        #expect(Quantity.size(text) == size)
    }

    @Test(arguments: ["99999999999999999999d", "9223372036854775807d"])
    func `a value that does not fit into 64 bits is rejected with the bounds`(text: String) {
        let loaded = ConfigurationLoader().load(text: "journal: { retain: { time: \(text) } }", named: "p.yaml")
        let message = loaded.errors.first { $0.message.contains("time") }?.message
        #expect(message?.contains("must be from ") == true, "\(loaded.errors)")
    }

    @Test func `quantities are shown as written`() {
        for text in ["50us", "1500us", "200ms", "5s", "90s", "10m", "23h", "7d", "0s"] {
            #expect(Quantity.duration(text).map { Quantity.text($0) } == text)
        }
        for text in ["32KiB", "1000", "20GiB", "0"] { #expect(Quantity.size(text).map { Quantity.text($0) } == text) }
    }

    @Test func `every key has a description and its actual default`() throws {
        let fields = Configuration.fields
        #expect(
            Set(fields.map(\.name)).isSuperset(of: [
                "sources", "journal", "routes", "destinations", "control", "plugins", "secrets",
            ]))
        let journal = try #require(fields.first { $0.name == "journal" })
        guard case .section(let keys) = journal.type else {
            Issue.record("the journal is not a section")
            return
        }
        let defaults = Dictionary(keys.map { ($0.name, $0.defaultText) }, uniquingKeysWith: { first, _ in first })
        #expect(defaults["directory"] == "/var/lib/penstock/journal")
        #expect(defaults["sync"] == "always" && defaults["when_full"] == "block" && defaults["segment_size"] == "64MiB")
        #expect(defaults["cursor_interval"] == "1s")
        #expect(allFields(fields).allSatisfy { !$0.summary.isEmpty })
    }

    private func allFields(_ fields: [FieldDescription]) -> [FieldDescription] {
        fields.flatMap { field -> [FieldDescription] in
            var shape = field.type
            while true {
                switch shape {
                case .section(let inner): return [field] + allFields(inner)
                case .variants(let variants): return [field] + variants.flatMap { allFields($0.own + $0.shared) }
                case .map(let inner), .list(let inner): shape = inner
                default: return [field]
                }
            }
        }
    }
}
