import Routing
import Testing

@testable import DaemonConfiguration

/// `sources.NAME` with a plugin.
@Suite struct SourcePluginTests {
    private func withSourcePlugin(_ lines: String) -> String {
        """
        sources:
          in:
        \(lines.split(separator: "\n", omittingEmptySubsequences: false).map { "    " + $0 }.joined(separator: "\n"))
        routes: [ { to: [out] } ]
        destinations: { out: { file: /d/out } }
        """
    }

    @Test func `every key of a source plugin is loaded into its property`() throws {
        let result = load(
            withSourcePlugin(
                """
                plugin: kafka
                settings: { brokers: [k1:9092], topic: events, group: penstock }
                limits: { memory: 64MiB, cpu: 0.5, open_files: 64 }
                deadline: 5s
                window: 1MiB
                max_event_size: 64KiB
                max_depth: 10
                scrub: [ { drop: [properties.secret] } ]
                """))
        let source = try #require(result.configuration?.sources.first, "\(result.diagnostics)")
        let plugin = try #require(source.plugin)
        #expect(source.name == "in" && source.socket.isEmpty && source.window == 1 << 20)
        #expect(source.maximumEventSize == 64 << 10 && source.maximumDepth == 10 && source.scrub.count == 1)
        #expect(plugin.plugin == "kafka" && plugin.deadline == .seconds(5) && plugin.isolation == .process)
        #expect(plugin.settings == #"{"brokers":["k1:9092"],"topic":"events","group":"penstock"}"#)
        #expect(
            plugin.limits.memory == 64 << 20 && plugin.limits.processors == 0.5 && plugin.limits.openFiles == 64)
        #expect(plugin.directory == "/etc/penstock" && result.warnings.isEmpty)
    }

    @Test(arguments: [
        ("mode: \"0660\"", ["source \"in\" needs one of socket, http, plugin"]),
        ("plugin: nats\nsocket: /run/s", ["a source has either a plugin, or socket and http"]),
        ("plugin: nats\nline_timeout: 5s", ["\"line_timeout\" belongs to a source with \"socket\" instead"]),
        ("socket: /run/s\nwindow: 1MiB", ["\"window\" belongs to a source with \"plugin\" instead"]),
        ("plugin: ../nats", ["\"../nats\" is not the name of a plugin"]),
        ("plugin: nats\nsettings: [a]", ["\"settings\" must be a map, not a list"]),
        ("plugin: nats\nwindow: 1KiB", ["\"window\" must be from 64KiB to 1GiB"]),
        ("plugn: nats", ["source \"in\" needs one of socket, http, plugin", "unknown key \"plugn\" in source \"in\""]),
    ])
    func `a mistake in a source plugin is an error`(_ lines: String, _ expected: [String]) {
        #expect(messages(withSourcePlugin(lines)) == expected)
    }

    @Test func `an unknown key near plugin suggests it`() {
        #expect(load(withSourcePlugin("plugn: nats")).diagnostics.map(\.hint).contains("did you mean \"plugin\"?"))
    }

    @Test func `a secret in a source's settings is a warning that does not show it`() {
        let warnings = load(withSourcePlugin("plugin: nats\nsettings: { password: abc }")).warnings
        #expect(warnings.count == 1 && !warnings[0].description.contains("abc"), "\(warnings)")
    }

    @Test func `a source that becomes a plugin is a changed source`() throws {
        let old = try #require(load(withSourcePlugin("socket: /run/s")).configuration)
        let new = try #require(load(withSourcePlugin("plugin: nats")).configuration)
        #expect(ConfigurationDifference(from: old, to: new).sources == .init(changed: ["in"]))
    }
}
