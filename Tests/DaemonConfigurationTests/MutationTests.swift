import Testing

@testable import DaemonConfiguration

/// No text crashes or hangs the loader, and every rejection has a reason with a place.
@Suite struct MutationTests {
    private static let example = """
        sources:
          apps: { socket: /run/penstock/events.sock, mode: "0660", allow: { users: [www-data] }, max_event_size: 32KiB }
        journal:
          sync: always
          retain: { time: 7d, size: 20GiB }
        routes:
          - name: everything
            to: &to [archive]
          - name: product analytics
            where: type = "track" and event != "Heartbeat"
            transforms:
              - set: { properties.plan: "{{ userId }}", b: [1, 2.5, true] }
            to: *to
          - where: >-
              event in ["A",
              "B"]
            to: [collector, 'warehouse']
        destinations:
          archive:
            file: /var/lib/penstock/archive/%Y-%m-%d.ndjson.zst
            rotate: { size: 256MiB, every: 1h }
          collector:
            http: https://collector.example/v1/events
            headers: { Authorization: "Bearer {{ secret.collector }}" }
            retry: { initial: 500ms, max: 5m, give_up_after: 24h }
          warehouse: { plugin: postgres, settings: { dsn: !secret dsn, table: events } }

        """

    private static let pieces = [
        "\"", "'", "{", "}", "[", "]", ":", ": ", "- ", "\n", "\n  ", "#", " #", "&a ", "*a", "*to", "!secret ", "!x ",
        "|", ">", "? ", "<<: *to",
        "\t", "%", "@", "`", "{{", "}}", "\\", "\\u00", "0", "-1", "99999999999999999999", "é", "\u{2028}", "\u{E000}",
        "~", "null", "---\n",
        "\u{0}", "where: ", "file: /x", "(", ")", "and",
    ]

    /// splitmix64, which produces the same texts in every run.
    private struct Random {
        var state: UInt64
        mutating func next(below bound: Int) -> Int {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return Int((z ^ (z >> 31)) % UInt64(max(1, bound)))
        }
    }

    @Test func `the example is valid`() {
        let result = ConfigurationLoader(credentialsDirectory: nil, missingSecretsAreWarnings: true)
            .load(text: Self.example, named: "p.yaml")
        #expect(result.errors.isEmpty)
    }

    @Test(arguments: 0..<20)
    func `a mutated text loads as a configuration or has errors with places`(_ seed: Int) {
        var random = Random(state: UInt64(seed) &* 0x1234_5678_9ABC_DEF1)
        let loader = ConfigurationLoader(credentialsDirectory: nil, missingSecretsAreWarnings: true)
        for _ in 0..<40 {
            var scalars = Array(Self.example.unicodeScalars)
            for _ in 0...random.next(below: 3) {
                let at = random.next(below: scalars.count)
                switch random.next(below: 4) {
                case 0:
                    scalars.insert(
                        contentsOf: Self.pieces[random.next(below: Self.pieces.count)].unicodeScalars, at: at)
                case 1: scalars.removeSubrange(at..<min(scalars.count, at + 1 + random.next(below: 12)))
                case 2: scalars[at] = Self.pieces[random.next(below: Self.pieces.count)].unicodeScalars.first ?? " "
                default:
                    let from = random.next(below: scalars.count)
                    scalars.insert(contentsOf: scalars[from..<min(scalars.count, from + 60)], at: at)
                }
            }
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            let result = loader.load(text: String(text), named: "p.yaml")
            #expect((result.configuration == nil) == !result.errors.isEmpty, "\(String(text))")
            for diagnostic in result.diagnostics {
                #expect(diagnostic.place.line >= 1 && diagnostic.place.column >= 1 && !diagnostic.message.isEmpty)
                #expect(diagnostic.description.hasPrefix("p.yaml:"))
            }
        }
    }
}
