import DaemonConfiguration
import Explanation
import Foundation
import TestSupport
import Testing

/// The JSON Schema for editors, compared with real configurations by an independent validator.
@Suite("The configuration's JSON Schema")
struct SchemaTests {
    /// The verdicts of python3-jsonschema on YAML documents, one line each. An empty line: the document is valid.
    private func verdicts(_ documents: [String]) throws -> [String] {
        let directory = try TemporaryDirectory()
        try directory.write("schema.json", ConfigurationSchema.text)
        for (number, document) in documents.enumerated() { try directory.write("\(number).yaml", document) }
        try directory.write(
            "validate.py",
            """
            import json, sys, yaml, jsonschema
            yaml.SafeLoader.add_constructor("!secret", lambda loader, node: loader.construct_scalar(node))
            schema = json.load(open(sys.argv[1] + "/schema.json"))
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(schema)
            for number in range(int(sys.argv[2])):
                document = yaml.safe_load(open(sys.argv[1] + f"/{number}.yaml"))
                errors = sorted({"/".join(map(str, error.path)) for error in validator.iter_errors(document)})
                print("; ".join(errors) + ("!" if errors else ""))
            """)
        let process = Process()
        // Debian's Python, because python3-jsonschema is Debian's package.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [directory.path + "/validate.py", directory.path, "\(documents.count)"]
        let output = URL(fileURLWithPath: try directory.write("output", ""))
        let handle = try FileHandle(forWritingTo: output)
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        process.waitUntilExit()
        let text = try String(contentsOf: output, encoding: .utf8)
        try #require(process.terminationStatus == 0, "\(text)")
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    @Test func `the schema accepts the shipped configurations and what the daemon accepts`() throws {
        let shipped = try ["penstock.yaml", "examples/quickstart.yaml"].map {
            try String(contentsOfFile: Repository.root + "/etc/penstock/" + $0, encoding: .utf8)
        }
        let written = Self.good
        for document in written { _ = try configuration(document) }
        let verdicts = try verdicts(shipped + written)
        #expect(verdicts == [String](repeating: "", count: shipped.count + written.count))
    }

    @Test func `the schema rejects what check rejects, at the same place`() throws {
        let verdicts = try verdicts(Self.bad.map(\.0))
        for ((document, place), verdict) in zip(Self.bad, verdicts) {
            #expect(verdict == place + "!", "\(document)")
            #expect(
                ConfigurationLoader.withStandIns().load(text: document, named: "p.yaml").configuration == nil,
                "\(document)")
        }
        #expect(verdicts.count == Self.bad.count)
    }

    @Test func `every key has a description`() throws {
        let schema = try #require(JSONTree(ConfigurationSchema.text))
        func look(_ tree: JSONTree, _ path: String) {
            guard case .object(let members) = tree else { return }
            for member in members {
                if member.name == "properties", case .object(let keys) = member.value {
                    for key in keys {
                        guard case .object(let about) = key.value else { continue }
                        #expect(about.contains { $0.name == "description" }, "\(path).\(key.name)")
                    }
                }
                look(member.value, path + "." + member.name)
            }
        }
        look(schema, "")
    }

    private static let good = [
        """
        sources:
          web: { http: "127.0.0.1:8377", write_keys: [!secret k], allow_origins: ["*"], max_wait: 1s }
          both:
            socket: /run/s
            http: "0.0.0.0:8378"
            write_keys: [!secret k]
            tls: { certificate: c.pem, key: !secret t, client_ca: ca.pem }
            max_batch_events: 10
            max_decompression_ratio: 20
        routes: [ { to: [a] } ]
        destinations: { a: { file: /d/a } }
        """,
        """
        sources: { apps: { socket: /run/s, mode: "0660", max_event_size: 64KiB, allow: { users: [root] } } }
        routes:
          - { where: true, to: [a] }
          - { name: n, where: event = "x", transforms: [ { set: { a: 1, b.c: "{{ event }}" }, where: userId = "u" } ], to: [b] }
          - { to: [c] }
        destinations:
          a: { file: a/%Y.ndjson, rotate: { size: 1MiB, every: 1h }, batch: { events: 5, bytes: 4096, wait: 0 }, start: earliest }
          b:
            http: https://b.example/
            headers: { Authorization: !secret t, X: "a {{ secret.t }}" }
            retry: { initial: 500ms, max: 5m, give_up_after: 1d }
            mapping:
              name: $.event
              at: { $date: $.timestamp }
              fixed: { $literal: { $strange: [1] } }
              list: [ 1, { $path: $.a }, { x: "{{ b }}" } ]
              $$dollar: { $if: { exists: $.a, then: 1, else: { $case: { operator: lower, value: $.b } } } }
          c: { plugin: p, settings: { any: [thing, 1] }, isolation: none, dead_letters: { size: 1MiB } }
        journal: { directory: j, sync: 10ms, retain: { time: 7d, size: 20GiB }, when_full: drop_oldest }
        plugins: { directories: [p] }
        secrets: { directory: s }
        control:
        """,
        "destinations: { a: { file: /a, mapping: $.event } }",
        """
        destinations:
          a:
            http: http://a/
            in_flight: {}
            batch: { events: 0x10, wait: 0 }
            mapping: { x: { $date: { $path: $.a } }, y: { $hash: $.a } }
            limits:
        """,
        """
        destinations:
          a:
            file: "a/{{ b }}/%Y.csv.gz"
            format: csv
            columns: { b: $.properties.b, "odd, name": "{{ c }}", at: { $date: $.timestamp } }
            keep: { files: 3, time: 30d, size: 10GiB }
            sync: 10s
            open_files: 5
            new_files: 100
        """,
    ]

    /// Invalid documents, each with the place of its error.
    private static let bad: [(String, String)] = [
        ("sorces: {}", ""),
        ("sources: { apps: {} }", "sources/apps"),
        ("sources: { apps: { socket: /s, mod: 1 } }", "sources/apps"),
        ("sources: { apps: { mode: \"0660\" } }", "sources/apps"),
        ("sources: { apps: { http: \"127.0.0.1:1\", write_keys: [!secret k], plugin: nats } }", "sources/apps"),
        (
            "sources: { apps: { http: \"127.0.0.1:1\", write_keys: [!secret k], max_batch_events: 0 } }",
            "sources/apps/max_batch_events"
        ),
        ("journal: { retain: { time: 7 } }", "journal/retain/time"),
        ("journal: { when_full: wait }", "journal/when_full"),
        ("routes: [ { where: a = 1 } ]", "routes/0"),
        ("routes: { to: [a] }", "routes"),
        ("destinations: { a: {} }", "destinations/a"),
        ("destinations: { a: { file: /a, url: b } }", "destinations/a"),
        ("destinations: { a: { file: /a, format: array } }", "destinations/a/format"),
        ("destinations: { a: { http: \"http://a/\", format: csv } }", "destinations/a/format"),
        ("destinations: { a: { file: /a, keep: { files: 0 } } }", "destinations/a/keep/files"),
        ("destinations: { a: { http: \"http://a/\", method: TRACE } }", "destinations/a/method"),
        ("destinations: { a: { file: /a, batch: { bytes: 1 } } }", "destinations/a/batch/bytes"),
        ("destinations: { a: { file: /a, transforms: [ { sett: { a: 1 } } ] } }", "destinations/a/transforms/0"),
        ("destinations: { a: { file: /a, mapping: { x: { $dat: 1 } } } }", "destinations/a/mapping/x"),
        ("destinations: { a: { file: /a, mapping: { $date: $.a, b: 1 } } }", "destinations/a/mapping"),
        ("destinations: { a: { file: /a, mapping: } }", "destinations/a/mapping"),
        (
            "destinations: { a: { file: /a, mapping: { x: { $date: { valuex: $.a } } } } }",
            "destinations/a/mapping/x/$date"
        ),
        ("destinations: { a: { file: /a, format: csv, columns: {} } }", "destinations/a/columns"),
        ("destinations: { a: { http: \"http://a/\", requests: [] } }", "destinations/a/requests"),
        ("destinations: { a: { http: \"http://a/\", in_flight: } }", "destinations/a/in_flight"),
        ("destinations: { a: { http: \"http://a/\", in_flight: \"5\" } }", "destinations/a/in_flight"),
        ("destinations: { a: { file: /a, batch: { events: \"5\" } } }", "destinations/a/batch/events"),
        ("destinations: { a: { file: /a, retry: { initial: 0 } } }", "destinations/a/retry/initial"),
        ("destinations: { a: { file: /a, retry: { initial: 0s } } }", "destinations/a/retry/initial"),
        ("destinations: { a: { file: /a, transforms: [ { drop: [] } ] } }", "destinations/a/transforms/0/drop"),
        ("destinations: { a: { file: /a, timed: } }", "destinations/a/timed"),
        ("destinations: { a: { file: /a, sync: single } }", "destinations/a/sync"),
        ("destinations: { a: { plugin: p, settings: [] } }", "destinations/a/settings"),
        (
            "destinations: { a: { file: /a, mapping: { $case: { operator: up, value: 1 } } } }",
            "destinations/a/mapping/$case/operator"
        ),
    ]
}
