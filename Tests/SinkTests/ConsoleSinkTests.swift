import Delivery
import Destinations
import Foundation
import PluginHosting
import PluginTesting
import Testing

@Suite struct ConsoleSinkTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libconsole.so")
    }

    @Test func `each event is printed and delivered`() throws {
        let stage = try PluginStage("console", in: directory, settings: #"{"stream":"stderr"}"#)
        _ = try stage.destination.open(from: Cursor(position: 0))
        #expect(stage.destination.limits == DestinationLimits(maximumBatchEvents: 512, maximumInFlight: 1))
        #expect(stage.outcomes(stage.offer([1, 2]), count: 2) == [.delivered, .delivered])
        #expect(stage.destination.metrics.counters["console_lines"] == 2)
    }

    @Test func `a batch larger than the plugin's limit is not delivered`() throws {
        let stage = try PluginStage("console", in: directory)
        _ = try stage.destination.open(from: Cursor(position: 0))
        let batch = stage.offer(Array(0..<513))
        #expect(stage.answers(batch).count == 1)
        #expect(stage.count("plugin_failed") == 1)
        #expect(stage.destination.metrics.counters["console_lines"] == nil)
    }

    @Test func `a stream that the plugin does not know is rejected before it runs`() throws {
        let error = #expect(throws: PluginError.self) {
            let stage = try PluginStage("console", in: directory, settings: #"{"stream":"paper"}"#)
            _ = try stage.destination.open(from: Cursor(position: 0))
        }
        #expect(error?.description == #"settings.stream: must be one of "stdout", "stderr""#)
    }

    /// Compiles the plugin as its opening comment recommends to authors.
    @Test func `the plugin compiles outside the package`() throws {
        let source = TestCompiler.sources.deletingLastPathComponent().appendingPathComponent(
            "Plugins/Console/Console.c"
        ).path
        let (status, output) = try TestCompiler.run([
            "clang", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden",
            "-I", TestCompiler.headers, "-o", "\(directory.path)/libmine.so", source,
        ])
        #expect(status == 0, "\(output)")
        #expect(
            try PluginInspection(
                of: "\(directory.path)/libmine.so", program: TestCompiler.built("penstock-plugin-host")
            ).name == "console")
    }
}
