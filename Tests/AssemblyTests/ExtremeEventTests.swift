import DaemonConfiguration
import Routing
import TestSupport
import Testing

/// Events with every extreme in each field that holds a number or a time, routed through every transform, directive,
/// filter and limit.
@Suite struct ExtremeEventTests {
    private static func configuration(_ destinations: [String]) -> String {
        let named = destinations.enumerated().map { "  d\($0): { file: /d/\($0), \($1) }\n" }.joined()
        let names = destinations.indices.map { "d\($0)" }.joined(separator: ", ")
        return "sources: { apps: { socket: /run/s } }\nroutes: [ { to: [\(names)] } ]\ndestinations:\n\(named)"
    }

    private func load(_ destinations: [String]) throws -> Configuration {
        let loaded = ConfigurationLoader(credentialsDirectory: nil, missingSecretsAreWarnings: true)
            .load(text: Self.configuration(destinations), named: "/etc/penstock/p.yaml")
        return try #require(loaded.configuration, "\(loaded.errors.map(\.description).joined(separator: "\n"))")
    }

    private static func event(_ value: String, timestamp: String? = nil, sentAt: String? = nil) -> String {
        """
        {"type":"track","event":"E","userId":"u","messageId":"m","timestamp":\(timestamp ?? value),"sentAt":\(sentAt ?? value),\
        "receivedAt":\(value),"originalTimestamp":\(value),"context":{"timing":{"id":"t","phase":"stop","duration":\(value)},\
        "session":{"id":\(value)}},"properties":{"x":\(value),"total":\(value),"price":\(value),"a":{"b":[\(value)]}}}
        """
    }

    /// Each extreme in every field, and each pair of times that corrects a wrong clock.
    private static let events: [String] = {
        let texts = (Extremes.all).map { "\"\($0)\"" }
        let pairs = Extremes.times.flatMap { a in
            Extremes.times.map { b in event("0", timestamp: "\"\(a)\"", sentAt: "\"\(b)\"") }
        }
        return (Extremes.numbers + texts).map {
            event($0, timestamp: "\"2026-01-01T00:00:00Z\"", sentAt: "\"2026-01-01T00:00:00Z\"")
        } + texts.map { event($0) } + pairs
    }()

    /// - Returns: the number of events that were routed.
    @discardableResult
    private func route(_ destinations: [String]) throws -> Int {
        let configuration = try load(destinations)
        var routed = 0
        for destination in configuration.destinations {
            let text = RoutedText(destination, configuration)
            for (receivedAt, position) in [
                (1_700_000_000_000_000_000, 0), (Int64.min, UInt64.max - 1_000_000), (.max, 1 << 63),
            ] {
                routed += text.route(Self.events, receivedAt: receivedAt, position: position).count {
                    $0.hasPrefix("{")
                }
            }
        }
        return routed
    }

    @Test(arguments: TransformCatalogue.all.map(\.name))
    func `no number or time in an event crashes a transform`(name: String) throws {
        let declaration = try #require(TransformCatalogue.declaration(of: name))
        // A transform whose example needs a script file is tested elsewhere.
        guard !declaration.example.contains("file:") else { return }
        _ = try route(["transforms: [ { \(declaration.example) } ]"])
    }

    @Test func `stateful transforms accept times and positions of every size`() throws {
        let durations = ["1ms", "8784h"]
        let stateful = durations.flatMap { every in
            [
                "transforms: [ { throttle: { events: 1, every: \(every), by: properties.x } } ]",
                "transforms: [ { dedupe: { by: properties.x, within: \(every) } } ]",
            ]
        }
        _ = try route(
            stateful + [
                "transforms: [ { sample: { share: 50%, by: properties.x } } ]",
                "transforms: [ { to_number: [properties.x] } ]",
            ])
    }

    private static let directives: [String] = {
        let value = "$.properties.x"
        return Directive.all.flatMap { directive -> [String] in
            switch directive.form {
            case .value: ["{ \(directive.name): \(value) }"]
            case .arguments(let arguments, _): Self.forms(directive.name, arguments)
            case .literal, .text, .list: []
            }
        }
    }()

    /// The directive with each choice and each bound of its arguments.
    private static func forms(_ name: String, _ arguments: [Directive.Argument]) -> [String] {
        func values(_ argument: Directive.Argument) -> [String] {
            switch argument.shape {
            case .choice(let names): names
            case .integer(let bounds): ["\(bounds.lowerBound)", "\(bounds.upperBound)"]
            case .value where argument.name == "value":
                ["$.properties.x", "$.timestamp", "$.sentAt", "$.receivedAt", "$.originalTimestamp"]
            default: []
            }
        }
        guard arguments.allSatisfy({ !$0.isRequired || !values($0).isEmpty }) else { return [] }
        let needed = arguments.filter(\.isRequired)
        return arguments.flatMap { argument in
            values(argument).map { value in
                let others = needed.filter { $0.name != argument.name }.map { "\($0.name): \(values($0)[0])" }
                return "{ \(name): { \((others + ["\(argument.name): \(value)"]).joined(separator: ", ")) } }"
            }
        }
    }

    @Test func `no number or time in an event crashes a directive`() throws {
        #expect(
            Self.directives.count > 20 && Self.directives.contains { $0.contains("epoch_nanoseconds") },
            "\(Self.directives)")
        let formats = [
            "rfc3339", "date", "epoch_seconds", "epoch_milliseconds", "epoch_microseconds", "epoch_nanoseconds",
        ]
        let dates = formats.flatMap { format in
            ["timestamp", "sentAt", "receivedAt", "properties.x"].map {
                "{ $date: { value: $.\($0), format: \(format) } }"
            }
        }
        let routed = try route((Self.directives + dates).map { "mapping: { id: $.messageId, a: \($0) }" })
        #expect(routed > 0)
    }

    @Test func `a filter can compare numbers of every size`() throws {
        let numbers = Extremes.numbers.filter { !$0.contains("9223372036854775807e") }
        let conditions = numbers.flatMap { number in
            ["=", "!=", ">", ">=", "<", "<="].map { "properties.x \($0) \(number)" } + [
                "properties.x in [\(number), 1]", "number(properties.x) = \(number)",
            ]
        }
        var parsed = 0
        for condition in conditions {
            let loaded = ConfigurationLoader(credentialsDirectory: nil)
                .load(text: Self.configuration(["where: '\(condition)'"]), named: "/etc/penstock/p.yaml")
            guard let configuration = loaded.configuration else { continue }
            parsed += 1
            for destination in configuration.destinations {
                _ = RoutedText(destination, configuration).route(Array(Self.events.prefix(250)))
            }
        }
        #expect(parsed > conditions.count / 2)
    }

    @Test(arguments: OutputLimit.Unit.allCases)
    func `a limit on times accepts times and clocks of every size`(unit: OutputLimit.Unit) {
        for bound in [Duration.zero, .seconds(36_500 * 86_400), .seconds(Int64.max)] {
            var limit = OutputLimit()
            (limit.path, limit.unit, limit.oldest, limit.newest) = (["at"], unit, bound, bound)
            let set = LimitSet([limit])
            for value in Extremes.numbers + Extremes.all.map({ "\"\($0)\"" }) {
                for now in [Int64.min, 0, 1_700_000_000_000_000_000, .max] {
                    _ = set.problem(with: Array("{\"at\":\(value)}".utf8).span, at: now)
                }
            }
        }
    }
}
