import TestSupport
import Testing

@testable import DaemonConfiguration

/// The changes that a reload applies.
@Suite struct DifferenceTests {
    private static let base = """
        sources:
          a: { socket: /run/a }
          b: { socket: /run/b }
        journal: { directory: /j }
        routes:
          - { name: one, where: type = "track", to: [x, y] }
          - { name: two, to: [y] }
        destinations:
          x: { file: /d/x }
          y: { http: "http://h", headers: { A: b } }
        """

    private func difference(_ edit: (String) -> String) throws -> ConfigurationDifference {
        let old = try #require(load(Self.base).configuration)
        let result = load(edit(Self.base))
        return ConfigurationDifference(from: old, to: try #require(result.configuration, "\(result.diagnostics)"))
    }

    @Test func `a change of formatting alone is no difference`() throws {
        #expect(try difference { $0 }.isEmpty)
        #expect(try difference { "# comment\n" + $0.replacing("/d/x", with: "\"/d//x\"") }.isEmpty)
    }

    @Test func `a change of the plan's file is a difference`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("plan.yaml", "events: { A: {} }")
        func configuration(_ plan: String) throws -> Configuration {
            try #require(load(Self.base + "\n" + plan).configuration)
        }
        let old = try configuration("plan: \(file)")
        #expect(ConfigurationDifference(from: old, to: try configuration("plan: { file: \(file) }")).isEmpty)
        let refusing = ConfigurationDifference(
            from: old, to: try configuration("plan: { file: \(file), on_violation: refuse }"))
        #expect(refusing.planChanged && !refusing.isEmpty && refusing.sources.isEmpty)
        try directory.write("plan.yaml", "events: { B: {} }")
        #expect(ConfigurationDifference(from: old, to: try configuration("plan: \(file)")).planChanged)
        #expect(ConfigurationDifference(from: old, to: try configuration("")).planChanged)
    }

    @Test func `sources are reported as added, removed or changed`() throws {
        let found = try difference {
            $0.replacing("a: { socket: /run/a }", with: "c: { socket: /run/c }").replacing(
                "/run/b }", with: "/run/b, max_depth: 5 }")
        }
        #expect(found.sources == .init(added: ["c"], removed: ["a"], changed: ["b"]))
        #expect(found.destinations.isEmpty && found.rerouted.isEmpty)
    }

    @Test func `destinations are reported as added, removed or changed`() throws {
        let found = try difference {
            $0.replacing("x: { file: /d/x }", with: "z: { file: /d/x }").replacing("[x, y]", with: "[z, y]")
                .replacing("A: b", with: "A: c")
        }
        #expect(found.destinations == .init(added: ["z"], removed: ["x"], changed: ["y"]))
        // The route still leads to y.
        #expect(found.rerouted.isEmpty)
    }

    @Test func `a change of a route's filter reroutes only that route's destinations`() throws {
        let found = try difference { $0.replacing("type = \"track\"", with: "type = \"page\"") }
        #expect(found.rerouted == ["x", "y"])
        #expect(found.destinations.isEmpty)
        #expect(
            try difference { $0.replacing("two, to", with: "two, where: true, transforms: [ { set: { a: 1 } } ], to") }
                .rerouted == ["y"])
    }

    @Test func `a change of a destination's own filter or transforms reroutes it without a new worker`() throws {
        let found = try difference { $0.replacing("{ file: /d/x }", with: "{ file: /d/x, where: userId = \"u\" }") }
        #expect(found.rerouted == ["x"] && found.destinations.isEmpty)
    }

    @Test func `a change of start does not affect an existing destination`() throws {
        #expect(try difference { $0.replacing("{ file: /d/x }", with: "{ file: /d/x, start: earliest }") }.isEmpty)
    }

    @Test func `changes of the journal, the control socket, routing and plugin directories are reported`() throws {
        #expect(try difference { $0.replacing("/j }", with: "/k }") }.journalDirectoryChanged)
        let sync = try difference { $0.replacing("/j }", with: "/j, sync: never }") }
        #expect(sync.journalChanged && !sync.journalDirectoryChanged)
        #expect(try difference { $0 + "\ncontrol: { socket: /c }" }.controlChanged)
        let routing = try difference { $0 + "\nrouting: { threads: 4 }" }
        #expect(routing.routingChanged && !routing.isEmpty && routing.rerouted.isEmpty)
        #expect(try difference { $0 + "\nplugins: { directories: [/p] }" }.pluginDirectoriesChanged)
    }
}
